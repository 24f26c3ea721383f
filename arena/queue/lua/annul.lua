-- Annuls a match: logs it and puts the ratings that follow in place, unless the log has moved.
-- USES: log
-- KEYS: done log rating games ladder meta
-- ARGV: sequence match annulment bank count:number changes...
--   sequence: that the ratings follow from; annulment: its record behind the seconds; count: of
--   bots that change; changes: bot and micro-Elo of each, then version and rated matches in turn
-- Returns: annulled | moved | already
local mark = redis.call('HGET', keys.done, match)
if mark and #mark > 8 then
  return 'already'
end
if (redis.call('HGET', keys.meta, 'sequence') or '0') ~= sequence then
  return 'moved'
end
for at = 1, 2 * count, 2 do
  redis.call('HSET', keys.rating, changes[at], changes[at + 1])
  redis.call('ZADD', keys.ladder, 'XX', changes[at + 1], changes[at])
end
for at = 2 * count + 1, #changes, 2 do
  redis.call('HSET', keys.games, changes[at], changes[at + 1])
end
redis.call('HSET', keys.meta, 'bank', bank)
local entry = append(keys, 'a' .. struct.pack('>I4', seconds_now()) .. annulment)
if mark then
  redis.call('HSET', keys.done, match, mark .. struct.pack('>I4', entry))
end
return 'annulled'
