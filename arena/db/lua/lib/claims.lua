-- Exclusive, expiring claims on the items of a queue: `due` is the key of a ZSET, item -> when it
-- may be claimed, in ms; `claims` that of a HASH, item -> "token attempts", the token "-" without a
-- claim.
-- USES: clock

-- Returns whether an item is claimed with this token.
local function is_claimed(claims, id, token)
  return string.match(redis.call('HGET', claims, id) or '', '^%S+') == token
end

-- Lets an item be claimed by others after a wait in ms.
local function set_due(due, id, wait)
  redis.call('ZADD', due, now_ms() + wait, id)
end

-- Ends a claim: the item is due again after a wait in ms.
local function return_claim(due, claims, id, wait, counts)
  local attempts = string.match(redis.call('HGET', claims, id), '%d+$') - (counts and 0 or 1)
  redis.call('HSET', claims, id, '- ' .. string.format('%.0f', attempts))
  set_due(due, id, wait)
end

-- Ends a claim and removes the item from the queue.
local function remove_claimed(due, claims, id)
  redis.call('ZREM', due, id)
  redis.call('HDEL', claims, id)
end
