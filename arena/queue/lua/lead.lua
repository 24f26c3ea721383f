-- Takes the right to schedule.
-- KEYS: leader
-- USES: states
-- ARGV: holder, duration in ms
-- Returns: the epoch, or 0 while another holds the right
local now = now_ms()
local leader = redis.call('HMGET', KEYS[1], 'holder', 'deadline', 'epoch')
local holder, deadline, epoch = leader[1], tonumber(leader[2] or 0), tonumber(leader[3] or 0)
local held = holder and deadline > now
if held and holder ~= ARGV[1] then
  return 0
end
if not held then
  epoch = epoch + 1
end
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'epoch', integer(epoch),
  'deadline', integer(now + ARGV[2]))
return epoch
