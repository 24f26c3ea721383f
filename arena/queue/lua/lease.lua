-- Leases the ready match with the smallest start tag, after promoting what is due and reaping.
-- USES: clock states reaping
-- KEYS: ready lease spec state delayed dead flows meta
-- ARGV: token duration worker attempts:number base:number
--   duration in ms; attempts: the most of a match; base: the first back-off in ms
-- Returns: {leases that nobody renewed, spec, attempts, voids, time of enqueueing in ms,
--   deadline in ms}; the first alone when no match is ready
local LIMIT = 20 -- so that one call stays short

local now = now_ms()
promote(keys, now, LIMIT)
local _, _, unrenewed = reap(keys, now, LIMIT, attempts, base)

local popped = redis.call('ZPOPMIN', keys.ready)
local match = popped[1]
if not match then
  return {unrenewed}
end
local state = parse_state(redis.call('HGET', keys.state, match))
if tonumber(state.tag) > tonumber(redis.call('HGET', keys.meta, 'vtime') or 0) then
  redis.call('HSET', keys.meta, 'vtime', state.tag)
end
state.phase, state.token, state.duration, state.worker = 'leased', token, duration, worker
local deadline = integer(now + duration)
redis.call('HSET', keys.state, match, format_state(state))
redis.call('ZADD', keys.lease, deadline, match)
return {
  unrenewed, redis.call('HGET', keys.spec, match), state.attempts, state.voids, state.enqueued,
  deadline,
}
