-- Folds results into a competition; a match that has one keeps it.
-- USES:
-- KEYS: meta results
-- ARGV: epoch, sequence up to which the ladder's log is folded in, then matches and results
-- Returns: folded | stale_epoch | the state in which nothing is folded
local epoch, cursor = tonumber(ARGV[1]), tonumber(ARGV[2])
local meta = redis.call('HMGET', KEYS[1], 'state', 'epoch', 'cursor')
if epoch < tonumber(meta[2] or 0) then
  return 'stale_epoch'
end
if meta[1] ~= 'running' and meta[1] ~= 'paused' then
  return meta[1] or ''
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
if cursor > tonumber(meta[3] or 0) then
  redis.call('HSET', KEYS[1], 'cursor', ARGV[2])
end
for at = 3, #ARGV, 2 do
  redis.call('HSETNX', KEYS[2], ARGV[at], ARGV[at + 1])
end
return 'folded'
