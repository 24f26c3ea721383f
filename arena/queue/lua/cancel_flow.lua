-- Cancels every match of a flow that is not done, and forgets the flow.
-- USES: states cancelling
-- KEYS: ready spec state delayed dead flows
-- ARGV: flow
-- Returns: how many matches were cancelled
local cancelled = 0
local lines = redis.call('HGETALL', keys.state)
for at = 1, #lines, 2 do
  local state = parse_state(lines[at + 1])
  if state.flow == flow and state.phase ~= 'cancelled' then
    cancel(keys, lines[at], state)
    cancelled = cancelled + 1
  end
end
redis.call('HDEL', keys.flows, flow)
return cancelled
