-- Lists the dead matches, the longest dead first.
-- USES: states
-- KEYS: spec state dead
-- ARGV:
-- Returns: rows {spec, time of enqueueing in ms, attempts, voids, reason, dead since in ms}
local rows = {}
local dead = redis.call('ZRANGE', keys.dead, 0, -1, 'WITHSCORES')
for at = 1, #dead, 2 do
  local state = parse_state(redis.call('HGET', keys.state, dead[at]))
  rows[#rows + 1] = {
    redis.call('HGET', keys.spec, dead[at]), state.enqueued, state.attempts, state.voids,
    state.reason, integer(dead[at + 1]),
  }
end
return rows
