-- Creates a competition or a league, with who enters it.
-- USES:
-- KEYS: meta entries
-- ARGV: number of entries, the entries in their order, then fields and values
-- Returns: created | exists
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 'exists'
end
local count = tonumber(ARGV[1])
redis.call('HSET', KEYS[1], 'revision', count, unpack(ARGV, 2 + count))
for number = 1, count do
  redis.call('HSET', KEYS[2], ARGV[1 + number], number)
end
return 'created'
