-- Adds a token of a registered owner.
-- KEYS: tokens token-ids owners tokens-of
-- ARGV: digest id owner token most:number
--   digest: SHA-256 of the secret; token: as JSON; most: tokens of an owner
-- Returns: added | no_owner | full
if redis.call('HEXISTS', keys.owners, owner) == 0 then
  return 'no_owner'
end
local usable = 0
for _, id in ipairs(redis.call('SMEMBERS', keys.tokens_of)) do
  local text = redis.call('HGET', keys.tokens, redis.call('HGET', keys.token_ids, id) or '')
  if text and cjson.decode(text).revoke_time == cjson.null then
    usable = usable + 1
  end
end
if usable >= most then
  return 'full'
end
redis.call('HSET', keys.tokens, digest, token)
redis.call('HSET', keys.token_ids, id, digest)
redis.call('SADD', keys.tokens_of, id)
return 'added'
