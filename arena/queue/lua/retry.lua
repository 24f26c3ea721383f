-- Queues a dead match again at the head of the queue, its attempts and voids forgotten.
-- USES: clock states
-- KEYS: ready state delayed dead flows meta
-- ARGV: match
-- Returns: 1, or 0 when it is not dead
local state = parse_state(redis.call('HGET', keys.state, match))
if not state or state.phase ~= 'dead' then
  return 0
end
redis.call('ZREM', keys.dead, match)
state.attempts, state.voids, state.reason = '0', '0', ''
state.tag = redis.call('HGET', keys.meta, 'vtime') or '0'
state.enqueued = integer(now_ms())
make_ready(keys, match, state)
return 1
