-- Tells how long the match at the head of the queue has waited.
-- USES: clock states
-- KEYS: ready state
-- ARGV:
-- Returns: ms, 0 when none is ready
local head = redis.call('ZRANGE', keys.ready, 0, 0)[1]
if not head then
  return 0
end
return now_ms() - parse_state(redis.call('HGET', keys.state, head)).enqueued
