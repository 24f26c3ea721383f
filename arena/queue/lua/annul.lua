-- Annuls a match: logs it and puts the ratings that follow in place, unless the log has moved.
-- KEYS: done log rating games ladder meta
-- USES: log
-- ARGV: sequence that the ratings follow from, match, rest of the record, bank,
--   number b of changed bots, b times bot and rating, then version and rated matches in turn
-- Returns: annulled | moved | already
local keys = {
  done = KEYS[1], log = KEYS[2], rating = KEYS[3], games = KEYS[4], ladder = KEYS[5],
  meta = KEYS[6],
}
local sequence, match, rest, bank, bots = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local mark = redis.call('HGET', keys.done, match)
if mark and #mark > 8 then
  return 'already'
end
if (redis.call('HGET', keys.meta, 'sequence') or '0') ~= sequence then
  return 'moved'
end
for at = 6, 5 + 2 * bots, 2 do
  redis.call('HSET', keys.rating, ARGV[at], ARGV[at + 1])
  redis.call('ZADD', keys.ladder, 'XX', ARGV[at + 1], ARGV[at])
end
for at = 6 + 2 * bots, #ARGV, 2 do
  redis.call('HSET', keys.games, ARGV[at], ARGV[at + 1])
end
redis.call('HSET', keys.meta, 'bank', bank)
local annulment = append(keys, 'a' .. struct.pack('>I4', seconds_now()) .. rest)
if mark then
  redis.call('HSET', keys.done, match, mark .. struct.pack('>I4', annulment))
end
return 'annulled'
