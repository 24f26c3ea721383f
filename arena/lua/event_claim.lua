-- Takes the event that is due longest.
-- USES: clock
-- KEYS: events event-bodies event-claims
-- ARGV: token, how long the claim lives in ms
-- Returns: {id, body, attempt} | nil when none is due
local now = now_ms()
local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 1)[1]
if not id then
  return nil
end
local attempt = 1 + tonumber(string.match(redis.call('HGET', KEYS[3], id) or '', '%d+$') or 0)
redis.call('HSET', KEYS[3], id, ARGV[1] .. ' ' .. attempt)
redis.call('ZADD', KEYS[1], now + ARGV[2], id)
return {id, redis.call('HGET', KEYS[2], id), attempt}
