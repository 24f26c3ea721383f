-- Promotes delayed matches that are due, and reaps expired leases.
-- USES: clock reaping
-- KEYS: ready lease spec state delayed dead flows
-- ARGV: attempts:number base:number
--   attempts: the most of a match; base: the first back-off in ms
-- Returns: {{matches that wait again}, {matches that are dead now}, leases that nobody renewed}
local LIMIT = 1000

local now = now_ms()
promote(keys, now, LIMIT)
local requeued, dead, unrenewed = reap(keys, now, LIMIT, attempts, base)
return {requeued, dead, unrenewed}
