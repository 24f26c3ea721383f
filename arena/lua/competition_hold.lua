-- Keeps a competition from ending while a match of it is being annulled.
-- USES: clock
-- KEYS: meta holds
-- ARGV: match as it was played, for how many ms at most
-- Returns: held | the state in which that is not needed | nil for none
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'running' and state ~= 'paused' then
  return state
end
redis.call('HSET', KEYS[2], ARGV[1], string.format('%.0f', now_ms() + ARGV[2]))
return 'held'
