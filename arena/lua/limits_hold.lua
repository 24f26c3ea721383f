-- Holds a place for a thing of which there may be only so many.
-- KEYS: held
-- ARGV: the most things, the life of a place in ms, the thing, then the things that are there now
-- Returns: held | known | full
local most, life, thing = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - life)
local things, count = {}, 0
local function add(each)
  if not things[each] then
    things[each], count = true, count + 1
  end
end
for at = 4, #ARGV do
  add(ARGV[at])
end
for _, each in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  add(each)
end
if things[thing] then
  return 'known'
end
if count >= most then
  return 'full'
end
redis.call('ZADD', KEYS[1], now, thing)
redis.call('PEXPIRE', KEYS[1], life)
return 'held'
