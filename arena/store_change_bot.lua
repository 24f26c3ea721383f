-- Changes the state of a bot, and its active version where one is given.
-- KEYS: bots versions
-- ARGV: name, state, version ("" leaves it)
-- Returns: changed | no_bot | no_version | suspended (then no version can be made active)
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then
  return 'no_bot'
end
local bot = cjson.decode(text)
if ARGV[3] ~= '' then
  if bot.state == 'suspended' then
    return 'suspended'
  end
  if redis.call('HEXISTS', KEYS[2], ARGV[3]) == 0 then
    return 'no_version'
  end
  bot.active = ARGV[3]
end
bot.state = ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(bot))
return 'changed'
