-- USES: clock

-- Queues an event for an owner who has a webhook, once for each id; dropped when the owner has
-- `most` events already.
local function post(keys, most, owner, id, body)
  if redis.call('HEXISTS', keys.webhooks, owner) == 0
    or redis.call('HEXISTS', keys.event_bodies, id) == 1
    or tonumber(redis.call('HGET', keys.event_counts, owner) or 0) >= most then
    return
  end
  redis.call('HSET', keys.event_bodies, id, body)
  redis.call('ZADD', keys.events, now_ms(), id)
  redis.call('HINCRBY', keys.event_counts, owner, 1)
end
