-- Renews the lease of the active scheduler.
-- USES: clock states
-- KEYS: leader
-- ARGV: name epoch duration:number
--   name: of the holder; duration in ms
-- Returns: 1, or 0 when it was lost
local leader = redis.call('HMGET', keys.leader, 'holder', 'epoch', 'deadline')
local now = now_ms()
if leader[1] ~= name or leader[2] ~= epoch or tonumber(leader[3]) <= now then
  return 0
end
redis.call('HSET', keys.leader, 'deadline', integer(now + duration))
return 1
