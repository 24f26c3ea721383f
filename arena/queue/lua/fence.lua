-- Makes an epoch the oldest that may enqueue.
-- KEYS: meta
-- USES:
-- ARGV: epoch
-- Returns: 1, or 0 when a newer epoch stands there
if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'epoch') or 0) then
  return 0
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1])
return 1
