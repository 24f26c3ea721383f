-- Fences out schedulers of older epochs.
-- KEYS: meta
-- ARGV: epoch:number
-- Returns: 1, or 0 when a newer epoch stands there
if epoch < tonumber(redis.call('HGET', keys.meta, 'epoch') or 0) then
  return 0
end
redis.call('HSET', keys.meta, 'epoch', epoch)
return 1
