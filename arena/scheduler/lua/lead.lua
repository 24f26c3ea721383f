-- Takes the lease of the active scheduler.
-- USES: clock states
-- KEYS: leader
-- ARGV: name duration:number
--   name: of the holder; duration in ms
-- Returns: the epoch, or 0 while another holds the lease
local now = now_ms()
local leader = redis.call('HMGET', keys.leader, 'holder', 'deadline', 'epoch')
local holder, deadline, epoch = leader[1], tonumber(leader[2] or 0), tonumber(leader[3] or 0)
local held = holder and deadline > now
if held and holder ~= name then
  return 0
end
if not held then
  epoch = epoch + 1
end
redis.call('HSET', keys.leader, 'holder', name, 'epoch', integer(epoch),
  'deadline', integer(now + duration))
return epoch
