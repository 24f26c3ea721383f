-- Keeps a competition from ending while a match of it is being annulled.
-- USES: clock
-- KEYS: meta holds
-- ARGV: match duration:number
--   match: as it was played; duration: in ms, at most
-- Returns: held | the state in which that is not needed | nil for none
local state = redis.call('HGET', keys.meta, 'state')
if state ~= 'running' and state ~= 'paused' then
  return state
end
redis.call('HSET', keys.holds, match, string.format('%.0f', now_ms() + duration))
return 'held'
