-- Accepts a tried version, which is then active unless a newer one was before; or rejects it.
-- USES: claims events
-- KEYS: webhooks events event-bodies event-counts trials trial-claims versions bots placements
--   steps
-- ARGV: id token verdict reason cause steps event event_body most:number forgotten
--   verdict: accepted or rejected; reason, cause: of a rejection; steps: as JSON;
--   event: its id; most: events of an owner; forgotten: the version whose steps are forgotten
-- Returns: active | accepted | rejected | lost
if not is_claimed(keys.trial_claims, id, token) then
  return 'lost'
end
remove_claimed(keys.trials, keys.trial_claims, id)
redis.call('HSET', keys.steps, id, steps)
redis.call('HDEL', keys.steps, forgotten)
local version = cjson.decode(redis.call('HGET', keys.versions, id))
version.state, version.reason, version.cause = verdict, nil, nil
if verdict == 'rejected' then
  version.reason, version.cause = reason, cause
end
redis.call('HSET', keys.versions, id, cjson.encode(version))

local name, number = string.match(id, '^(.*)@(%d+)$')
local bot = cjson.decode(redis.call('HGET', keys.bots, name))
local answer = verdict
local by_operator = bot.state == 'suspended' and not bot.faults
local left = bot.state == 'retired' and not version.revives
local newest = math.max(bot.newest or 0, tonumber(string.match(bot.active, '%d+$') or 0))
if verdict == 'accepted' and not by_operator and not left and tonumber(number) > newest then
  bot.active, bot.rulesets, bot.state = id, cjson.encode(version.rulesets), 'active'
  bot.reason, bot.faults, bot.newest = nil, nil, tonumber(number)
  redis.call('HSET', keys.bots, name, cjson.encode(bot))
  redis.call('SADD', keys.placements, name)
  answer = 'active'
end
post(keys, most, bot.owner, event, event_body)
return answer
