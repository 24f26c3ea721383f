-- Queues an event for its owner.
-- USES: events
-- KEYS: webhooks events event-bodies event-counts
-- ARGV: owner id body most:number
--   most: events of an owner
-- Returns: nothing
post(keys, most, owner, id, body)
