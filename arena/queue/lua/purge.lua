-- Forgets a dead match.
-- KEYS: spec state dead
-- ARGV: match
-- Returns: 1, or 0 when it is not dead
if redis.call('ZREM', keys.dead, match) == 0 then
  return 0
end
redis.call('HDEL', keys.state, match)
redis.call('HDEL', keys.spec, match)
return 1
