-- Creates a competition or a league.
-- USES:
-- KEYS: meta
-- ARGV: fields and values
-- Returns: created | exists
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'exists'
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 'created'
