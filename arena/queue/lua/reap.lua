-- Wakes delayed matches that are due, and ends expired leases.
-- KEYS: ready lease spec state delayed dead flows
-- USES: states reaping
-- ARGV: most attempts, most voids, back-off in ms
-- Returns: {{matches that wait again}, {matches that are dead now}, leases that nobody renewed}
local keys = {
  ready = KEYS[1], lease = KEYS[2], spec = KEYS[3], state = KEYS[4], delayed = KEYS[5],
  dead = KEYS[6], flows = KEYS[7],
}
local LIMIT = 1000

local now = now_ms()
promote(keys, now, LIMIT)
local requeued, dead, unrenewed = reap(keys, now, LIMIT, tonumber(ARGV[1]), tonumber(ARGV[3]))
return {requeued, dead, unrenewed}
