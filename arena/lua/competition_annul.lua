-- Takes a result that was annulled out of a competition, with what follows from it.
-- USES: progress
-- KEYS: meta results spent holds
-- ARGV: epoch, sequence of the annulment, match as it was played, rounds that stay paired ("" for
--   no change), number of results, their matches of the plan, then ids that are spent and why
-- Returns: annulled | already | stale_epoch | the state in which nothing is annulled
local epoch, sequence, count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[5])
local refused, cursor = standing(KEYS[1], epoch)
if refused then
  return refused
end
if sequence <= cursor then
  return 'already'
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'cursor', ARGV[2])
if ARGV[4] ~= '' then
  redis.call('HSET', KEYS[1], 'paired', ARGV[4])
end
redis.call('HDEL', KEYS[2], unpack(ARGV, 6, 5 + count))
redis.call('HSET', KEYS[3], unpack(ARGV, 6 + count))
redis.call('HDEL', KEYS[4], ARGV[3])
return 'annulled'
