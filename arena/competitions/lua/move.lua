-- Takes a competition or a league from one of some states to another, and sets fields.
-- KEYS: meta
-- ARGV: epoch revision to count:number rest...
--   epoch: "" for none; revision: of the entries, "" for any; to: the new state; count: of old
--   states; rest: the old states, then fields and values
-- Returns: moved | revised | stale_epoch | the state it is in | nil for none
local meta = redis.call('HMGET', keys.meta, 'state', 'epoch', 'revision')
if not meta[1] then
  return nil
end
if epoch ~= '' and tonumber(epoch) < tonumber(meta[2] or 0) then
  return 'stale_epoch'
end
local fits = false
for at = 1, count do
  fits = fits or rest[at] == meta[1]
end
if not fits then
  return meta[1]
end
if revision ~= '' and revision ~= (meta[3] or '0') then
  return 'revised'
end
redis.call('HSET', keys.meta, 'state', to, unpack(rest, 1 + count))
return 'moved'
