-- Changes the state of a bot, and its active version where one is given.
-- KEYS: bots versions
-- ARGV: name state id reason
--   id: of the version that becomes active, "" leaves it; reason: "" for none
-- Returns: changed | no_bot | no_version | not_accepted | suspended (and so it cannot
--   be retired; by an operator, and so no version can be made active)
local text = redis.call('HGET', keys.bots, name)
if not text then
  return 'no_bot'
end
local bot = cjson.decode(text)
if state == 'retired' and bot.state == 'suspended' then
  -- Else its owner could bring it back.
  return 'suspended'
end
if id ~= '' then
  if bot.state == 'suspended' and not bot.faults then
    return 'suspended'
  end
  local version = redis.call('HGET', keys.versions, id)
  if not version then
    return 'no_version'
  end
  version = cjson.decode(version)
  if version.state ~= 'accepted' then
    return 'not_accepted'
  end
  bot.active, bot.rulesets = id, cjson.encode(version.rulesets)
elseif state == 'active' and bot.faults then
  local version = cjson.decode(redis.call('HGET', keys.versions, bot.active))
  version.state, version.reason = 'accepted', nil
  redis.call('HSET', keys.versions, bot.active, cjson.encode(version))
end
bot.state, bot.reason, bot.faults = state, nil, nil
if reason ~= '' then
  bot.reason = reason
end
if bot.state == 'active' and bot.active == '' then
  bot.state = 'pending'
end
redis.call('HSET', keys.bots, name, cjson.encode(bot))
return 'changed'
