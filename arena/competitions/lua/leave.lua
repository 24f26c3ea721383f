-- Takes an entry back before the start; after it, notes that an entrant is gone.
-- KEYS: meta entries gone
-- ARGV: entry version reason
--   entry: a bot or a version, as it was entered; version: the entrant's
-- Returns: left | withdrawn | absent | the state in which nobody leaves | nil for none
local state = redis.call('HGET', keys.meta, 'state')
if not state then
  return nil
end
if state == 'draft' or state == 'open' then
  if redis.call('HDEL', keys.entries, entry) == 0 then
    return 'absent'
  end
  redis.call('HINCRBY', keys.meta, 'revision', 1)
  return 'left'
elseif state == 'running' or state == 'paused' then
  redis.call('HSETNX', keys.gone, version, reason)
  return 'withdrawn'
end
return state
