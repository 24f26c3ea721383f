-- Cancels a match that is not done.
-- KEYS: ready spec state delayed dead
-- USES: states cancelling
-- ARGV: match
-- Returns: 1, or 0 when there is none
local keys = {ready = KEYS[1], spec = KEYS[2], state = KEYS[3], delayed = KEYS[4], dead = KEYS[5]}

local state = parse_state(redis.call('HGET', keys.state, ARGV[1]))
if not state or state.phase == 'cancelled' then
  return 0
end
cancel(keys, ARGV[1], state)
return 1
