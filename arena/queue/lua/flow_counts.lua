-- Counts the matches of each flow.
-- USES: states
-- KEYS: state flows
-- ARGV:
-- Returns: rows {flow, weight, paused (1 or 0), waiting, leased, dead}
local counts = {}
for _, text in ipairs(redis.call('HVALS', keys.state)) do
  local state = parse_state(text)
  local count = counts[state.flow] or {waiting = 0, leased = 0, dead = 0}
  counts[state.flow] = count
  if state.phase == 'leased' or state.phase == 'cancelled' then
    count.leased = count.leased + 1
  elseif state.phase == 'dead' then
    count.dead = count.dead + 1
  else
    count.waiting = count.waiting + 1
  end
end
local flows = redis.call('HGETALL', keys.flows)
local rows = {}
for at = 1, #flows, 2 do
  local flow = parse_flow(flows[at + 1])
  local count = counts[flows[at]] or {waiting = 0, leased = 0, dead = 0}
  rows[#rows + 1] = {
    flows[at], flow.weight, flow.paused and 1 or 0, count.waiting, count.leased, count.dead,
  }
end
return rows
