-- Parses and formats the states of matches, and requeues matches.
-- USES: clock
--
-- A state holds, separated by single spaces: phase, flow, cost in games, attempts, voids, the
-- start tag of fair queueing, the time of enqueueing in ms, then token, duration in ms and worker
-- of the lease ("-", "0", "-" without one), and the last reason, which may hold spaces.

local PARKED = 9000000000000000 -- score in `delayed` of a match whose flow is paused

local function integer(number)
  return string.format('%.0f', number + 0)
end

local function parse_state(line)
  if not line then
    return nil
  end
  local state = {}
  state.phase, state.flow, state.cost, state.attempts, state.voids, state.tag, state.enqueued,
    state.token, state.duration, state.worker, state.reason = string.match(
      line, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  return state
end

local function format_state(state)
  return table.concat({
    state.phase, state.flow, state.cost, state.attempts, state.voids, state.tag, state.enqueued,
    state.token, state.duration, state.worker, state.reason,
  }, ' ')
end

local function parse_flow(line)
  local finish, weight, paused = string.match(line or '0 1 0', '^(%S+) (%S+) (%S+)$')
  return {finish = tonumber(finish), weight = tonumber(weight), paused = paused == '1'}
end

local function format_flow(flow)
  return integer(flow.finish) .. ' ' .. integer(flow.weight) .. ' ' .. (flow.paused and '1' or '0')
end

-- Ends the lease of a state, if any, and gives it a phase.
local function set_phase(keys, match, state, phase)
  state.phase, state.token, state.duration, state.worker = phase, '-', '0', '-'
  redis.call('HSET', keys.state, match, format_state(state))
end

-- Makes a match ready at its own tag, or parks it when its flow is paused.
local function make_ready(keys, match, state)
  if parse_flow(redis.call('HGET', keys.flows, state.flow)).paused then
    redis.call('ZADD', keys.delayed, integer(PARKED), match)
    set_phase(keys, match, state, 'paused')
  else
    redis.call('ZADD', keys.ready, state.tag, match)
    set_phase(keys, match, state, 'ready')
  end
end

-- Forgets an unfinished match.
local function forget(keys, match)
  redis.call('HDEL', keys.state, match)
  redis.call('HDEL', keys.spec, match)
end

-- Ends the lease with this token; returns the state, or nil and the answer: lost, or cancelled.
local function end_lease(keys, match, token)
  local state = parse_state(redis.call('HGET', keys.state, match))
  if not state or state.token ~= token then
    return nil, 'lost'
  end
  redis.call('ZREM', keys.lease, match)
  if state.phase == 'cancelled' then
    forget(keys, match)
    return nil, 'cancelled'
  end
  return state
end

local function make_dead(keys, match, state, now)
  redis.call('ZADD', keys.dead, integer(now), match)
  set_phase(keys, match, state, 'dead')
end

local function make_delayed(keys, match, state, due)
  redis.call('ZADD', keys.delayed, integer(due), match)
  set_phase(keys, match, state, 'delayed')
end

-- The wait after the count-th failure: four times as long after each.
local function backoff(base, count)
  return base * 4 ^ (count - 1)
end
