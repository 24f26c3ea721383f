-- Promotes delayed matches, and reaps expired leases.
-- USES: states

-- When the server started, in ms; at most a second too late, never too early.
local function server_started_ms(now)
  local uptime = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
  return now - uptime * 1000
end

-- Makes delayed matches that are due ready; at most `limit`.
local function promote(keys, now, limit)
  local due = redis.call('ZRANGEBYSCORE', keys.delayed, '-inf', integer(now), 'LIMIT', 0, limit)
  for _, match in ipairs(due) do
    redis.call('ZREM', keys.delayed, match)
    make_ready(keys, match, parse_state(redis.call('HGET', keys.state, match)))
  end
end

-- Ends at most `limit` expired leases; returns the matches that wait again, the dead ones, and how
-- many leases expired because nobody renewed them although it was possible.
local function reap(keys, now, limit, attempts, base)
  local requeued, dead, unrenewed = {}, {}, 0
  local expired = redis.call('ZRANGEBYSCORE', keys.lease, '-inf', '(' .. integer(now),
    'WITHSCORES', 'LIMIT', 0, limit)
  if #expired == 0 then
    return requeued, dead, unrenewed
  end
  local started = server_started_ms(now)
  for at = 1, #expired, 2 do
    local match, deadline = expired[at], tonumber(expired[at + 1])
    local state = parse_state(redis.call('HGET', keys.state, match))
    local was_down = deadline - state.duration < started
    redis.call('ZREM', keys.lease, match)
    if not was_down then
      unrenewed = unrenewed + 1
    end
    if state.phase == 'cancelled' then
      forget(keys, match)
    elseif was_down then
      -- The server was down for a part of this lease: nobody could renew it.
      state.reason = 'the server restarted'
      make_ready(keys, match, state)
      requeued[#requeued + 1] = match
    else
      state.reason = 'lease expired at worker ' .. state.worker
      local count = state.attempts + 1
      state.attempts = integer(count)
      if count >= attempts then
        make_dead(keys, match, state, now)
        dead[#dead + 1] = match
      else
        make_delayed(keys, match, state, now + backoff(base, count))
        requeued[#requeued + 1] = match
      end
    end
  end
  return requeued, dead, unrenewed
end
