-- Enters a bot before the start; a league takes bots in for its next season at any time.
-- USES:
-- KEYS: meta entries
-- ARGV: bot or version, the most entrants (0 for no bound), the states in which it may be entered
-- Returns: entered | already | full | the state in which it may not be entered | nil for none
local state = redis.call('HGET', KEYS[1], 'state')
if not state then
  return nil
end
local fits = false
for at = 3, #ARGV do
  fits = fits or ARGV[at] == state
end
if not fits then
  return state
end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then
  return 'already'
end
local most = tonumber(ARGV[2])
if most > 0 and redis.call('HLEN', KEYS[2]) >= most then
  return 'full'
end
redis.call('HSET', KEYS[2], ARGV[1], redis.call('HINCRBY', KEYS[1], 'revision', 1))
return 'entered'
