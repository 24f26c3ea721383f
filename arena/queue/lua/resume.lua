-- Resumes a paused flow, as if its parked matches were enqueued now in their old order.
-- USES: states
-- KEYS: ready state delayed flows meta
-- ARGV: flow_name
-- Returns: how many matches are ready again
local flow = parse_flow(redis.call('HGET', keys.flows, flow_name))
if not flow.paused then
  return 0
end
local parked = {}
for _, match in ipairs(redis.call('ZRANGEBYSCORE', keys.delayed, integer(PARKED), '+inf')) do
  local state = parse_state(redis.call('HGET', keys.state, match))
  if state.flow == flow_name then
    parked[#parked + 1] = {match = match, state = state, tag = tonumber(state.tag)}
  end
end
table.sort(parked, function(a, b)
  return a.tag < b.tag or (a.tag == b.tag and a.match < b.match)
end)

-- Old tags would let the flow catch up on all it missed, at the cost of the others.
flow.finish = tonumber(redis.call('HGET', keys.meta, 'vtime') or 0)
flow.paused = false
redis.call('HSET', keys.flows, flow_name, format_flow(flow))
for _, each in ipairs(parked) do
  each.state.tag = integer(flow.finish)
  flow.finish = flow.finish + math.max(1, math.floor(each.state.cost * 1000000 / flow.weight + 0.5))
  redis.call('ZREM', keys.delayed, each.match)
  make_ready(keys, each.match, each.state)
end
redis.call('HSET', keys.flows, flow_name, format_flow(flow))
return #parked
