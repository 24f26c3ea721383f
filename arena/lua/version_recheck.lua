-- Lets a rejected version be tried again: now if its files are there, else once they are sent again.
-- USES: clock
-- KEYS: versions trials steps
-- ARGV: version, whether its files are there (1 or 0)
-- Returns: waits | marked | none | settled
local id = ARGV[1]
local text = redis.call('HGET', KEYS[1], id)
if not text then
  return 'none'
end
local version = cjson.decode(text)
if version.state ~= 'rejected' then
  return 'settled'
end
if ARGV[2] == '0' then
  version.again = true
  redis.call('HSET', KEYS[1], id, cjson.encode(version))
  return 'marked'
end
version.state, version.reason = 'uploaded', nil
redis.call('HSET', KEYS[1], id, cjson.encode(version))
redis.call('HDEL', KEYS[3], id)
redis.call('ZADD', KEYS[2], now_ms(), id)
return 'waits'
