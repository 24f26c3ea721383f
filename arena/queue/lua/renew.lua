-- Extends a lease.
-- KEYS: lease state
-- USES: states
-- ARGV: match, token, duration in ms
-- Returns: ok | lost | cancelled
local lease, state_key = KEYS[1], KEYS[2]
local match, token, duration = ARGV[1], ARGV[2], ARGV[3]

local state = parse_state(redis.call('HGET', state_key, match))
if not state or state.token ~= token then
  return 'lost'
end
if state.phase == 'cancelled' then
  return 'cancelled'
end
redis.call('ZADD', lease, integer(now_ms() + duration), match)
if state.duration ~= duration then
  state.duration = duration
  redis.call('HSET', state_key, match, format_state(state))
end
return 'ok'
