-- Tells how long the match at the head of the queue has waited.
-- KEYS: ready state
-- USES: states
-- ARGV:
-- Returns: ms, 0 when none is ready
local head = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if not head then
  return 0
end
return now_ms() - parse_state(redis.call('HGET', KEYS[2], head)).enqueued
