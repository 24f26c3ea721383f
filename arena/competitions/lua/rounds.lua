-- Publishes the commitments of rounds that begin, and the seeds of rounds that have ended.
-- KEYS: meta rounds
-- ARGV: epoch:number now rows...
--   rows: round, commitment and seed ("-" before the round's end)
-- Returns: noted | stale_epoch
if epoch < tonumber(redis.call('HGET', keys.meta, 'epoch') or 0) then
  return 'stale_epoch'
end
for at = 1, #rows, 3 do
  local known = redis.call('HGET', keys.rounds, rows[at])
  local time = known and string.match(known, '^%S+ %S+ (.*)$') or now
  if not known or rows[at + 2] ~= '-' then
    redis.call('HSET', keys.rounds, rows[at], rows[at + 1] .. ' ' .. rows[at + 2] .. ' ' .. time)
  end
end
return 'noted'
