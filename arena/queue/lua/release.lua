-- Releases a lease: the match is requeued, and no attempt is counted.
-- USES: states
-- KEYS: ready lease spec state delayed flows
-- ARGV: match token reason
-- Returns: queued | lost | cancelled
local state, refused = end_lease(keys, match, token)
if refused then
  return refused
end
state.reason = reason
make_ready(keys, match, state)
return 'queued'
