-- Folds results into a competition; a match that has one keeps it.
-- USES: progress
-- KEYS: meta results
-- ARGV: epoch:number cursor:number results...
--   cursor: the sequence up to which the ladder's log is folded in; results: match and JSON in turn
-- Returns: folded | stale_epoch | the state in which nothing is folded
local refused, known = standing(keys.meta, epoch)
if refused then
  return refused
end
redis.call('HSET', keys.meta, 'epoch', epoch)
if cursor > known then
  redis.call('HSET', keys.meta, 'cursor', cursor)
end
for at = 1, #results, 2 do
  redis.call('HSETNX', keys.results, results[at], results[at + 1])
end
return 'folded'
