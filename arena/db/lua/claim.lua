-- Claims the item that is due longest, or whose claim expired.
-- USES: clock claims
-- KEYS: due claims
-- ARGV: token duration:number
--   duration: of the claim, in ms
-- Returns: {item, attempt} | nil when none is due
local id = redis.call('ZRANGEBYSCORE', keys.due, '-inf', now_ms(), 'LIMIT', 0, 1)[1]
if not id then
  return nil
end
local attempts = string.match(redis.call('HGET', keys.claims, id) or '', '%d+$') or 0
redis.call('HSET', keys.claims, id, token .. ' ' .. string.format('%.0f', attempts + 1))
set_due(keys.due, id, duration)
return {id, attempts + 1}
