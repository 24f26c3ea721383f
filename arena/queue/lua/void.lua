-- Gives back a leased match that failed through no bot's fault; the last void makes it dead.
-- USES: clock states
-- KEYS: lease spec state delayed dead
-- ARGV: match token reason voids:number base:number
--   voids: the most of a match; base: the first back-off in ms
-- Returns: queued | dead | lost | cancelled
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
local now = now_ms()
local count = state.voids + 1
state.voids, state.reason = integer(count), reason
if count >= voids then
  make_dead(keys, match, state, now)
  return 'dead'
end
make_delayed(keys, match, state, now + backoff(base, count))
return 'queued'
