-- Takes one of the uses that there are within a window of time.
-- USES: clock
-- KEYS: uploads-of
-- ARGV: most:number window:number use
--   most: uses within the window, which is in ms; use: a text that no other use has
-- Returns: 0, or after how many ms the next use is free
local now = now_ms()
redis.call('ZREMRANGEBYSCORE', keys.uploads_of, '-inf', now - window)
if redis.call('ZCARD', keys.uploads_of) >= most then
  local oldest = redis.call('ZRANGE', keys.uploads_of, 0, 0, 'WITHSCORES')[2]
  return oldest and math.max(1, oldest + window - now) or window
end
redis.call('ZADD', keys.uploads_of, now, use)
redis.call('PEXPIRE', keys.uploads_of, window)
return 0
