-- Voids a leased match, which failed through no bot's fault; the last void makes it dead.
-- USES: clock states
-- KEYS: lease spec state delayed dead
-- ARGV: match token reason voids:number base:number
--   voids: the most of a match; base: the first back-off in ms
-- Returns: queued | dead | lost | cancelled
local state, refused = end_lease(keys, match, token)
if refused then
  return refused
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
