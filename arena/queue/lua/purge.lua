-- Forgets a dead match.
-- USES: states
-- KEYS: spec state dead
-- ARGV: match
-- Returns: 1, or 0 when it is not dead
if redis.call('ZREM', keys.dead, match) == 0 then
  return 0
end
forget(keys, match)
return 1
