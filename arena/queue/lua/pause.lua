-- Pauses a flow: parks its ready matches now, its delayed ones when they are due.
-- USES: states
-- KEYS: ready state delayed flows
-- ARGV: flow_name
-- Returns: how many matches were parked
local flow = parse_flow(redis.call('HGET', keys.flows, flow_name))
flow.paused = true
redis.call('HSET', keys.flows, flow_name, format_flow(flow))
local parked = 0
for _, match in ipairs(redis.call('ZRANGE', keys.ready, 0, -1)) do
  local state = parse_state(redis.call('HGET', keys.state, match))
  if state.flow == flow_name then
    redis.call('ZREM', keys.ready, match)
    make_ready(keys, match, state)
    parked = parked + 1
  end
end
return parked
