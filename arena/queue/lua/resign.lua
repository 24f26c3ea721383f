-- Gives up the right to schedule.
-- KEYS: leader
-- USES:
-- ARGV: holder
-- Returns: 1, or 0 when another holds it
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then
  return 0
end
redis.call('HSET', KEYS[1], 'deadline', '0')
return 1
