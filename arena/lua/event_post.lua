-- Puts an event into its owner's outbox.
-- USES: clock events
-- KEYS: webhooks events event-bodies event-counts
-- ARGV: owner, id, body, the most events of an owner
-- Returns: nothing
post(KEYS, now_ms(), tonumber(ARGV[4]), ARGV[1], ARGV[2], ARGV[3])
