-- Cancels one match.
-- USES: states

-- Forgets a waiting or dead match; marks a leased one, so that its worker learns of it.
local function cancel(keys, match, state)
  if state.phase == 'leased' then
    state.phase = 'cancelled'
    redis.call('HSET', keys.state, match, format_state(state))
    return
  end
  redis.call('ZREM', keys.ready, match)
  redis.call('ZREM', keys.delayed, match)
  redis.call('ZREM', keys.dead, match)
  forget(keys, match)
end
