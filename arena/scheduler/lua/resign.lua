-- Releases the lease of the active scheduler.
-- KEYS: leader
-- ARGV: name
--   name: of the holder
-- Returns: 1, or 0 when another holds it
if redis.call('HGET', keys.leader, 'holder') ~= name then
  return 0
end
redis.call('HSET', keys.leader, 'deadline', '0')
return 1
