-- Changes the state of a bot, and its active version where one is given.
-- USES:
-- KEYS: bots versions
-- ARGV: name, state, version ("" leaves it), reason ("" for none)
-- Returns: changed | no_bot | no_version | not_accepted | suspended (and so it cannot
--   be retired; by an operator, and so no version can be made active)
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then
  return 'no_bot'
end
local bot = cjson.decode(text)
if ARGV[2] == 'retired' and bot.state == 'suspended' then
  -- Else its owner could bring it back.
  return 'suspended'
end
if ARGV[3] ~= '' then
  if bot.state == 'suspended' and not bot.faults then
    return 'suspended'
  end
  local version = redis.call('HGET', KEYS[2], ARGV[3])
  if not version then
    return 'no_version'
  end
  version = cjson.decode(version)
  if version.state ~= 'accepted' then
    return 'not_accepted'
  end
  bot.active, bot.rulesets = ARGV[3], cjson.encode(version.rulesets)
elseif ARGV[2] == 'active' and bot.faults then
  local version = cjson.decode(redis.call('HGET', KEYS[2], bot.active))
  version.state, version.reason = 'accepted', nil
  redis.call('HSET', KEYS[2], bot.active, cjson.encode(version))
end
bot.state, bot.reason, bot.faults = ARGV[2], nil, nil
if ARGV[4] ~= '' then
  bot.reason = ARGV[4]
end
if bot.state == 'active' and bot.active == '' then
  bot.state = 'pending'
end
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(bot))
return 'changed'
