-- Charges a ladder for a match that was leased.
-- KEYS: share
-- USES:
-- ARGV: ruleset, cost in games
-- Returns: 1
local share = redis.call('HMGET', KEYS[1], '', ARGV[1])
local virtual = tonumber(share[1] or 0)
local start = math.max(virtual, tonumber(share[2] or 0))
redis.call('HSET', KEYS[1], '', string.format('%.0f', start),
  ARGV[1], string.format('%.0f', start + ARGV[2]))
return 1
