-- Releases a claim: the version is to be tried again.
-- USES: claims
-- KEYS: trials trial-claims versions
-- ARGV: id token wait:number counts:flag
--   wait in ms; counts: whether this was an attempt
-- Returns: ok | lost
if not is_claimed(keys.trial_claims, id, token) then
  return 'lost'
end
return_claim(keys.trials, keys.trial_claims, id, wait, counts)
local version = cjson.decode(redis.call('HGET', keys.versions, id))
version.state = 'uploaded'
redis.call('HSET', keys.versions, id, cjson.encode(version))
return 'ok'
