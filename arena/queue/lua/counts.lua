-- Counts the matches of a ladder.
-- USES: states
-- KEYS: ready lease done delayed dead
-- ARGV:
-- Returns: {ready, delayed, paused, leased, dead, done}
local parked = redis.call('ZCOUNT', keys.delayed, integer(PARKED), '+inf')
return {
  redis.call('ZCARD', keys.ready), redis.call('ZCARD', keys.delayed) - parked, parked,
  redis.call('ZCARD', keys.lease), redis.call('ZCARD', keys.dead), redis.call('HLEN', keys.done),
}
