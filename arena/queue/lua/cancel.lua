-- Cancels a match that is not done.
-- USES: states cancelling
-- KEYS: ready spec state delayed dead
-- ARGV: match
-- Returns: 1, or 0 when there is none
local state = parse_state(redis.call('HGET', keys.state, match))
if not state or state.phase == 'cancelled' then
  return 0
end
cancel(keys, match, state)
return 1
