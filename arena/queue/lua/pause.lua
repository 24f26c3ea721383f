-- Pauses a flow and parks its ready matches; delayed ones are parked when they are due.
-- KEYS: ready state delayed flows
-- USES: states
-- ARGV: flow
-- Returns: how many matches were parked
local keys = {ready = KEYS[1], state = KEYS[2], delayed = KEYS[3], flows = KEYS[4]}

local flow = parse_flow(redis.call('HGET', keys.flows, ARGV[1]))
flow.paused = true
redis.call('HSET', keys.flows, ARGV[1], format_flow(flow))
local parked = 0
for _, match in ipairs(redis.call('ZRANGE', keys.ready, 0, -1)) do
  local state = parse_state(redis.call('HGET', keys.state, match))
  if state.flow == ARGV[1] then
    redis.call('ZREM', keys.ready, match)
    make_ready(keys, match, state)
    parked = parked + 1
  end
end
return parked
