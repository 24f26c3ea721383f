-- Gives a claim back: the version waits again.
-- USES: clock claims
-- KEYS: trials claims versions
-- ARGV: version, token, the wait in ms, whether the attempt counts (1 or 0)
-- Returns: ok | lost
local id, token = ARGV[1], ARGV[2]
if not is_claimed(KEYS[2], id, token) then
  return 'lost'
end
local attempt = string.match(redis.call('HGET', KEYS[2], id), '%d+$') - (1 - ARGV[4])
redis.call('HSET', KEYS[2], id, '- ' .. string.format('%.0f', attempt))
redis.call('ZADD', KEYS[1], now_ms() + ARGV[3], id)
local version = cjson.decode(redis.call('HGET', KEYS[3], id))
version.state = 'uploaded'
redis.call('HSET', KEYS[3], id, cjson.encode(version))
return 'ok'
