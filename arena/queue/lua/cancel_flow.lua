-- Cancels every match of a flow that is not done, and forgets the flow.
-- USES: states cancelling
-- KEYS: ready spec state delayed dead flows
-- ARGV: flow
-- Returns: how many matches were cancelled
local cancelled = 0
local states = redis.call('HGETALL', keys.state)
for at = 1, #states, 2 do
  local state = parse_state(states[at + 1])
  if state.flow == flow and state.phase ~= 'cancelled' then
    cancel(keys, states[at], state)
    cancelled = cancelled + 1
  end
end
redis.call('HDEL', keys.flows, flow)
return cancelled
