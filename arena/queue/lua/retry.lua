-- Queues a dead match again at the head of the queue, its attempts and voids forgotten.
-- KEYS: ready state delayed dead flows meta
-- USES: states
-- ARGV: match
-- Returns: 1, or 0 when it is not dead
local keys = {
  ready = KEYS[1], state = KEYS[2], delayed = KEYS[3], dead = KEYS[4], flows = KEYS[5],
  meta = KEYS[6],
}
local state = parse_state(redis.call('HGET', keys.state, ARGV[1]))
if not state or state.phase ~= 'dead' then
  return 0
end
redis.call('ZREM', keys.dead, ARGV[1])
state.attempts, state.voids, state.reason = '0', '0', ''
state.tag = redis.call('HGET', keys.meta, 'vtime') or '0'
state.enqueued = integer(now_ms())
make_ready(keys, ARGV[1], state)
return 1
