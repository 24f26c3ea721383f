-- Forgets a dead match.
-- KEYS: spec state dead
-- USES:
-- ARGV: match
-- Returns: 1, or 0 when it is not dead
if redis.call('ZREM', KEYS[3], ARGV[1]) == 0 then
  return 0
end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
