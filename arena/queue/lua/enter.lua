-- Puts a bot on the ladder.
-- USES: log
-- KEYS: log rating ladder meta
-- ARGV: bot
-- Returns: 1, or 0 when it was there
local rating = redis.call('HGET', keys.rating, bot)
if not rating then
  enter(keys, bot)
  return 1
end
return redis.call('ZADD', keys.ladder, 'NX', rating, bot)
