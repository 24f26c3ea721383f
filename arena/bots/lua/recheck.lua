-- Lets a rejected version be tried again: now if its files are there, else once they come again.
-- USES: clock
-- KEYS: versions trials steps
-- ARGV: id is_kept:flag
--   is_kept: whether its files are there
-- Returns: waits | marked | none | settled
local text = redis.call('HGET', keys.versions, id)
if not text then
  return 'none'
end
local version = cjson.decode(text)
if version.state ~= 'rejected' then
  return 'settled'
end
if not is_kept then
  version.again = true
  redis.call('HSET', keys.versions, id, cjson.encode(version))
  return 'marked'
end
version.state, version.reason, version.cause = 'uploaded', nil, nil
redis.call('HSET', keys.versions, id, cjson.encode(version))
redis.call('HDEL', keys.steps, id)
redis.call('ZADD', keys.trials, now_ms(), id)
return 'waits'
