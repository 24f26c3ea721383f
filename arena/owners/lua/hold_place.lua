-- Reserves a place for a thing of which there may be only so many.
-- USES: clock
-- KEYS: held
-- ARGV: most:number life:number thing present...
--   most: things; life: of a place, in ms; present: the things that are there now
-- Returns: held | known | full
local now = now_ms()
redis.call('ZREMRANGEBYSCORE', keys.held, '-inf', now - life)
local things, count = {}, 0
for _, list in ipairs({present, redis.call('ZRANGE', keys.held, 0, -1)}) do
  for _, each in ipairs(list) do
    count = count + (things[each] and 0 or 1)
    things[each] = true
  end
end
if things[thing] then
  return 'known'
end
if count >= most then
  return 'full'
end
redis.call('ZADD', keys.held, now, thing)
redis.call('PEXPIRE', keys.held, life)
return 'held'
