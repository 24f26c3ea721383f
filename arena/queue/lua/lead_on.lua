-- Extends the right to schedule.
-- KEYS: leader
-- USES: states
-- ARGV: holder, epoch, duration in ms
-- Returns: 1, or 0 when it was lost
local leader = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'deadline')
local now = now_ms()
if leader[1] ~= ARGV[1] or leader[2] ~= ARGV[2] or tonumber(leader[3]) <= now then
  return 0
end
redis.call('HSET', KEYS[1], 'deadline', integer(now + ARGV[3]))
return 1
