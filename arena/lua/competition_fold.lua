-- Folds results into a competition; a match that has one keeps it.
-- USES: progress
-- KEYS: meta results
-- ARGV: epoch, sequence up to which the ladder's log is folded in, then matches and results
-- Returns: folded | stale_epoch | the state in which nothing is folded
local cursor = tonumber(ARGV[2])
local refused, known = standing(KEYS[1], tonumber(ARGV[1]))
if refused then
  return refused
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
if cursor > known then
  redis.call('HSET', KEYS[1], 'cursor', ARGV[2])
end
for at = 3, #ARGV, 2 do
  redis.call('HSETNX', KEYS[2], ARGV[at], ARGV[at + 1])
end
return 'folded'
