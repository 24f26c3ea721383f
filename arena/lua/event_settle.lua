-- Ends a claim on an event: it is gone, or due again after a wait.
-- USES: clock claims
-- KEYS: events event-bodies event-claims event-counts
-- ARGV: id, token, whether the event is done with (1 or 0), the wait in ms, owner,
--   whether this was an attempt (1 or 0)
-- Returns: ok | lost
local id = ARGV[1]
if not is_claimed(KEYS[3], id, ARGV[2]) then
  return 'lost'
end
if ARGV[3] == '0' then
  local attempt = string.match(redis.call('HGET', KEYS[3], id), '%d+$') - (1 - ARGV[6])
  redis.call('HSET', KEYS[3], id, '- ' .. string.format('%.0f', attempt))
  redis.call('ZADD', KEYS[1], now_ms() + ARGV[4], id)
  return 'ok'
end
redis.call('ZREM', KEYS[1], id)
redis.call('HDEL', KEYS[2], id)
redis.call('HDEL', KEYS[3], id)
if redis.call('HINCRBY', KEYS[4], ARGV[5], -1) <= 0 then
  redis.call('HDEL', KEYS[4], ARGV[5])
end
return 'ok'
