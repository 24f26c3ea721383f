-- Puts an event into the outbox of an owner who has a webhook; keys webhooks, events, bodies,
-- counts. The same id is never there twice, and an owner has at most `most` events at once: what
-- comes beyond them is dropped.
local function post(keys, now, most, owner, id, body)
  if redis.call('HEXISTS', keys[1], owner) == 0 or redis.call('HEXISTS', keys[3], id) == 1 then
    return
  end
  if tonumber(redis.call('HGET', keys[4], owner) or 0) >= most then
    return
  end
  redis.call('HSET', keys[3], id, body)
  redis.call('ZADD', keys[2], now, id)
  redis.call('HINCRBY', keys[4], owner, 1)
end
