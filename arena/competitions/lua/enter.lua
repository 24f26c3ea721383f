-- Enters a bot before the start; a league takes bots in for its next season at any time.
-- KEYS: meta entries
-- ARGV: entry most:number states...
--   entry: a bot or a version; most: entrants, 0 for no bound; states: in which it may be entered
-- Returns: entered | already | full | the state in which it may not be entered | nil for none
local state = redis.call('HGET', keys.meta, 'state')
if not state then
  return nil
end
local fits = false
for _, each in ipairs(states) do
  fits = fits or each == state
end
if not fits then
  return state
end
if redis.call('HEXISTS', keys.entries, entry) == 1 then
  return 'already'
end
if most > 0 and redis.call('HLEN', keys.entries) >= most then
  return 'full'
end
redis.call('HSET', keys.entries, entry, redis.call('HINCRBY', keys.meta, 'revision', 1))
return 'entered'
