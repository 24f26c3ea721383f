-- Changes the state of a bot, its active version, or both.
-- KEYS: bots versions
-- ARGV: name, state ("" leaves it), version ("" leaves it)
-- Returns: changed | no_bot | no_version
local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then
  return 'no_bot'
end
local bot = cjson.decode(text)
if ARGV[3] ~= '' then
  if redis.call('HEXISTS', KEYS[2], ARGV[3]) == 0 then
    return 'no_version'
  end
  bot.active = ARGV[3]
end
if ARGV[2] ~= '' then
  bot.state = ARGV[2]
end
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(bot))
return 'changed'
