-- Renews a lease.
-- USES: clock states
-- KEYS: lease state
-- ARGV: match token duration
--   duration in ms
-- Returns: ok | lost | cancelled
local state = parse_state(redis.call('HGET', keys.state, match))
if not state or state.token ~= token then
  return 'lost'
end
if state.phase == 'cancelled' then
  return 'cancelled'
end
redis.call('ZADD', keys.lease, integer(now_ms() + duration), match)
if state.duration ~= duration then
  state.duration = duration
  redis.call('HSET', keys.state, match, format_state(state))
end
return 'ok'
