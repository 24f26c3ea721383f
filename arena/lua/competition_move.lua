-- Takes a competition or a league from one of some states to another, and sets fields.
-- USES:
-- KEYS: meta
-- ARGV: epoch ("" for none), revision of the entries ("" for any), new state, number of old states,
--   old states, then fields and values
-- Returns: moved | revised | stale_epoch | the state it is in | nil for none
local epoch, revision, count = ARGV[1], ARGV[2], tonumber(ARGV[4])
local meta = redis.call('HMGET', KEYS[1], 'state', 'epoch', 'revision')
if not meta[1] then
  return nil
end
if epoch ~= '' and tonumber(epoch) < tonumber(meta[2] or 0) then
  return 'stale_epoch'
end
local fits = false
for at = 5, 4 + count do
  fits = fits or ARGV[at] == meta[1]
end
if not fits then
  return meta[1]
end
if revision ~= '' and revision ~= (meta[3] or '0') then
  return 'revised'
end
redis.call('HSET', KEYS[1], 'state', ARGV[3], unpack(ARGV, 5 + count))
return 'moved'
