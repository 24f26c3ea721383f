-- Cancels every match of a flow that is not done, and forgets the flow.
-- KEYS: ready spec state delayed dead flows
-- USES: states cancelling
-- ARGV: flow
-- Returns: how many matches were cancelled
local keys = {
  ready = KEYS[1], spec = KEYS[2], state = KEYS[3], delayed = KEYS[4], dead = KEYS[5],
  flows = KEYS[6],
}
local cancelled = 0
local lines = redis.call('HGETALL', keys.state)
for at = 1, #lines, 2 do
  local state = parse_state(lines[at + 1])
  if state.flow == ARGV[1] and state.phase ~= 'cancelled' then
    cancel(keys, lines[at], state)
    cancelled = cancelled + 1
  end
end
redis.call('HDEL', keys.flows, ARGV[1])
return cancelled
