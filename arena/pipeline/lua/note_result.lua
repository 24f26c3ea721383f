-- Notes a ladder's result for the suspension of faulty versions and for the webhooks, once.
-- USES: events
-- KEYS: webhooks events event-bodies event-counts followed streaks versions bots placements
-- ARGV: ruleset sequence:number limit:number most:number rated:flag entrants...
--   sequence: of the result; limit: results in a row that suspend; most: events of an owner;
--   entrants, eight values each: version, whether it was faulty (1 or 0), reason of a suspension,
--   owner, id and body of the event of a forfeit ("" for none), the same of a suspension
-- Returns: the versions that were suspended | nil when the result had been noted before
if sequence <= tonumber(redis.call('HGET', keys.followed, ruleset) or 0) then
  return nil
end
redis.call('HSET', keys.followed, ruleset, sequence)

-- Suspends an accepted version, and its bot when it is the active one; returns whether it was.
local function suspend(id, reason)
  local text = redis.call('HGET', keys.versions, id)
  local version = text and cjson.decode(text)
  if not version or version.state ~= 'accepted' then
    return false
  end
  version.state, version.reason = 'suspended', reason
  redis.call('HSET', keys.versions, id, cjson.encode(version))
  local name = string.match(id, '^(.*)@%d+$')
  local bot = cjson.decode(redis.call('HGET', keys.bots, name))
  if bot.active == id and bot.state == 'active' then
    bot.state, bot.reason, bot.faults = 'suspended', reason, true
    redis.call('HSET', keys.bots, name, cjson.encode(bot))
    redis.call('SADD', keys.placements, name)
  end
  return true
end

local suspended = {}
for at = 1, #entrants, 8 do
  local id, faulty, reason, owner, forfeit, forfeit_body, suspension, suspension_body =
    unpack(entrants, at, at + 7)
  if forfeit ~= '' then
    post(keys, most, owner, forfeit, forfeit_body)
  end
  if rated and faulty == '0' then
    redis.call('HDEL', keys.streaks, id)
  elseif rated and redis.call('HINCRBY', keys.streaks, id, 1) >= limit then
    redis.call('HDEL', keys.streaks, id)
    if suspend(id, reason) then
      post(keys, most, owner, suspension, suspension_body)
      suspended[#suspended + 1] = id
    end
  end
end
return suspended
