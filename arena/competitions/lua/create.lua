-- Creates a competition or a league, with who enters it.
-- KEYS: meta entries
-- ARGV: count:number rest...
--   count: of entries; rest: the entries in their order, then fields and values
-- Returns: created | exists
if redis.call('EXISTS', keys.meta) == 1 then
  return 'exists'
end
redis.call('HSET', keys.meta, 'revision', count, unpack(rest, 1 + count))
for number = 1, count do
  redis.call('HSET', keys.entries, rest[number], number)
end
return 'created'
