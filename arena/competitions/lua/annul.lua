-- Takes a result that was annulled out of a competition, with what follows from it.
-- USES: progress
-- KEYS: meta results spent holds
-- ARGV: epoch:number sequence:number match paired count:number rest...
--   sequence: of the annulment; match: as it was played; paired: the rounds that stay paired, ""
--   for no change; count: of results that go; rest: their matches of the plan, then ids that are
--   spent and why
-- Returns: annulled | already | stale_epoch | the state in which nothing is annulled
local refused, cursor = standing(keys.meta, epoch)
if refused then
  return refused
end
if sequence <= cursor then
  return 'already'
end
redis.call('HSET', keys.meta, 'epoch', epoch, 'cursor', sequence)
if paired ~= '' then
  redis.call('HSET', keys.meta, 'paired', paired)
end
redis.call('HDEL', keys.results, unpack(rest, 1, count))
redis.call('HSET', keys.spent, unpack(rest, 1 + count))
redis.call('HDEL', keys.holds, match)
return 'annulled'
