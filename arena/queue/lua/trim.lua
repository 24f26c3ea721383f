-- Drops the oldest entries of the log, which are in the archive, and the marks of their matches.
-- KEYS: done log meta
-- USES:
-- ARGV: last sequence to drop, then the matches of the results up to it
-- Returns: 1, or 0 when they were dropped before
if tonumber(ARGV[1]) <= tonumber(redis.call('HGET', KEYS[3], 'archived') or 0) then
  return 0
end
redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f-0', ARGV[1] + 1))
for at = 2, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[at])
end
redis.call('HSET', KEYS[3], 'archived', ARGV[1])
return 1
