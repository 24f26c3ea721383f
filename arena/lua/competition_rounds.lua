-- Publishes the commitments of rounds that begin, and the seeds of rounds that have ended.
-- USES:
-- KEYS: meta rounds
-- ARGV: epoch, time, then round, commitment and seed ("-" before its end)
-- Returns: noted | stale_epoch
if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'epoch') or 0) then
  return 'stale_epoch'
end
for at = 3, #ARGV, 3 do
  local known = redis.call('HGET', KEYS[2], ARGV[at])
  local time = known and string.match(known, '^%S+ %S+ (.*)$') or ARGV[2]
  if not known or ARGV[at + 2] ~= '-' then
    redis.call('HSET', KEYS[2], ARGV[at], ARGV[at + 1] .. ' ' .. ARGV[at + 2] .. ' ' .. time)
  end
end
return 'noted'
