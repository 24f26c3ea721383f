-- Deletes the archived entries of the log, and the marks of their matches.
-- KEYS: done log meta
-- ARGV: last:number matches...
--   last: the last sequence to drop; matches: of the results up to it
-- Returns: 1, or 0 when they were dropped before
if last <= tonumber(redis.call('HGET', keys.meta, 'archived') or 0) then
  return 0
end
redis.call('XTRIM', keys.log, 'MINID', string.format('%.0f-0', last + 1))
for _, match in ipairs(matches) do
  redis.call('HDEL', keys.done, match)
end
redis.call('HSET', keys.meta, 'archived', last)
return 1
