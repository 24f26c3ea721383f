-- Removes a claimed event.
-- USES: claims
-- KEYS: events event-bodies event-claims event-counts
-- ARGV: id token owner
-- Returns: ok | lost
if not is_claimed(keys.event_claims, id, token) then
  return 'lost'
end
remove_claimed(keys.events, keys.event_claims, id)
redis.call('HDEL', keys.event_bodies, id)
if redis.call('HINCRBY', keys.event_counts, owner, -1) <= 0 then
  redis.call('HDEL', keys.event_counts, owner)
end
return 'ok'
