-- Charges a ladder for a match that was leased.
-- KEYS: share
-- ARGV: ruleset cost:number
--   cost in games
-- Returns: 1
local share = redis.call('HMGET', keys.share, '', ruleset)
local virtual = tonumber(share[1] or 0)
local start = math.max(virtual, tonumber(share[2] or 0))
redis.call('HSET', keys.share, '', string.format('%.0f', start),
  ruleset, string.format('%.0f', start + cost))
return 1
