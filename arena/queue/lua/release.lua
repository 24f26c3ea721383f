-- Gives a leased match back unharmed.
-- USES: states
-- KEYS: ready lease spec state delayed flows
-- ARGV: match token reason
-- Returns: queued | lost | cancelled
local state = parse_state(redis.call('HGET', keys.state, match))
if not state or state.token ~= token then
  return 'lost'
end
redis.call('ZREM', keys.lease, match)
if state.phase == 'cancelled' then
  redis.call('HDEL', keys.state, match)
  redis.call('HDEL', keys.spec, match)
  return 'cancelled'
end
state.reason = reason
make_ready(keys, match, state)
return 'queued'
