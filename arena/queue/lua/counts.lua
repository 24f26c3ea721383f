-- Counts the matches of a ladder.
-- KEYS: ready lease done delayed dead
-- USES: states
-- ARGV:
-- Returns: {ready, delayed, paused, leased, dead, done}
local parked = redis.call('ZCOUNT', KEYS[4], integer(PARKED), '+inf')
return {
  redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[4]) - parked, parked,
  redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[5]), redis.call('HLEN', KEYS[3]),
}
