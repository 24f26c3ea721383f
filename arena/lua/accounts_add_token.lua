-- Adds a token of a registered owner.
-- KEYS: tokens ids owners tokens-of-the-owner
-- ARGV: SHA-256 of the secret, id, owner, token as JSON, the most tokens of an owner
-- Returns: added | no_owner | full
if redis.call('HEXISTS', KEYS[3], ARGV[3]) == 0 then
  return 'no_owner'
end
local usable = 0
for _, id in ipairs(redis.call('SMEMBERS', KEYS[4])) do
  local text = redis.call('HGET', KEYS[1], redis.call('HGET', KEYS[2], id) or '')
  if text and cjson.decode(text).revoke_time == cjson.null then
    usable = usable + 1
  end
end
if usable >= tonumber(ARGV[5]) then
  return 'full'
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[1])
redis.call('SADD', KEYS[4], ARGV[2])
return 'added'
