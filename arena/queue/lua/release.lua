-- Gives a leased match back unharmed.
-- KEYS: ready lease spec state delayed flows
-- USES: states
-- ARGV: match, token, reason
-- Returns: queued | lost | cancelled
local keys = {
  ready = KEYS[1], lease = KEYS[2], spec = KEYS[3], state = KEYS[4], delayed = KEYS[5],
  flows = KEYS[6],
}
local match, token, reason = ARGV[1], ARGV[2], ARGV[3]

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
