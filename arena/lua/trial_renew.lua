-- Extends a claim; notes how far the version has come, where that is given.
-- USES: clock claims
-- KEYS: trials claims versions steps
-- ARGV: version, token, how long the claim lives in ms, state ("" leaves it), digest of the folder
--   that was built ("" leaves it), steps as JSON ("" leaves them)
-- Returns: ok | lost
local id, token = ARGV[1], ARGV[2]
if not is_claimed(KEYS[2], id, token) then
  return 'lost'
end
redis.call('ZADD', KEYS[1], now_ms() + ARGV[3], id)
if ARGV[4] ~= '' or ARGV[5] ~= '' then
  local version = cjson.decode(redis.call('HGET', KEYS[3], id))
  if ARGV[4] ~= '' then
    version.state = ARGV[4]
  end
  if ARGV[5] ~= '' then
    version.source = version.source or version.digest
    version.digest, version.built = ARGV[5], true
  end
  redis.call('HSET', KEYS[3], id, cjson.encode(version))
end
if ARGV[6] ~= '' then
  redis.call('HSET', KEYS[4], id, ARGV[6])
end
return 'ok'
