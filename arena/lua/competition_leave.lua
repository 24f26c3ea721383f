-- Takes an entry back before the start; after it, notes that an entrant is gone.
-- USES:
-- KEYS: meta entries gone
-- ARGV: bot or version as it was entered, the entrant's version, reason
-- Returns: left | withdrawn | absent | the state in which nobody leaves | nil for none
local state = redis.call('HGET', KEYS[1], 'state')
if not state then
  return nil
end
if state == 'draft' or state == 'open' then
  if redis.call('HDEL', KEYS[2], ARGV[1]) == 0 then
    return 'absent'
  end
  redis.call('HINCRBY', KEYS[1], 'revision', 1)
  return 'left'
elseif state == 'running' or state == 'paused' then
  redis.call('HSETNX', KEYS[3], ARGV[2], ARGV[3])
  return 'withdrawn'
end
return state
