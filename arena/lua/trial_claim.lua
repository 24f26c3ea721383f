-- Takes the version that has waited longest, or whose claim expired.
-- USES: clock
-- KEYS: trials claims versions
-- ARGV: token, how long the claim lives in ms
-- Returns: {version, attempt} | nil when none waits
local now = now_ms()
local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 1)[1]
if not id then
  return nil
end
local attempt = 1 + tonumber(string.match(redis.call('HGET', KEYS[2], id) or '', '%d+$') or 0)
redis.call('HSET', KEYS[2], id, ARGV[1] .. ' ' .. attempt)
redis.call('ZADD', KEYS[1], now + ARGV[2], id)
return {id, attempt}
