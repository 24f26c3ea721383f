-- Ends a competition of which all has been played, unless a match of it is being annulled.
-- USES: clock
-- KEYS: meta holds
-- ARGV: epoch:number fields...
--   fields: and values, in turn
-- Returns: ended | held | stale_epoch | the state in which it does not end
local meta = redis.call('HMGET', keys.meta, 'state', 'epoch')
if epoch < tonumber(meta[2] or 0) then
  return 'stale_epoch'
end
if meta[1] ~= 'running' then
  return meta[1] or ''
end
local now = now_ms()
for _, deadline in ipairs(redis.call('HVALS', keys.holds)) do
  if tonumber(deadline) > now then
    return 'held'
  end
end
redis.call('HSET', keys.meta, 'state', 'ended', unpack(fields))
return 'ended'
