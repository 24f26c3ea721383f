-- Notes how far a claimed version has come, and extends the claim.
-- USES: claims
-- KEYS: trials trial-claims versions steps
-- ARGV: id token duration:number state digest steps
--   duration in ms; state: "" leaves it; digest: of the folder that was built, "" leaves it;
--   steps: as JSON, "" leaves them
-- Returns: ok | lost
if not is_claimed(keys.trial_claims, id, token) then
  return 'lost'
end
set_due(keys.trials, id, duration)
if state ~= '' or digest ~= '' then
  local version = cjson.decode(redis.call('HGET', keys.versions, id))
  if state ~= '' then
    version.state = state
  end
  if digest ~= '' then
    version.source = version.source or version.digest
    version.digest, version.built = digest, true
  end
  redis.call('HSET', keys.versions, id, cjson.encode(version))
end
if steps ~= '' then
  redis.call('HSET', keys.steps, id, steps)
end
return 'ok'
