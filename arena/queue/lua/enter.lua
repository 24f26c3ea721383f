-- Puts a bot on the ladder.
-- KEYS: log rating ladder meta
-- USES: log
-- ARGV: bot
-- Returns: 1, or 0 when it was there
local keys = {log = KEYS[1], rating = KEYS[2], ladder = KEYS[3], meta = KEYS[4]}

local rating = redis.call('HGET', keys.rating, ARGV[1])
if not rating then
  enter(keys, ARGV[1])
  return 1
end
return redis.call('ZADD', keys.ladder, 'NX', rating, ARGV[1])
