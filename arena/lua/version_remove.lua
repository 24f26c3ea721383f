-- Gives up a version whose folder makes room; one that plays, or is being tried, stays.
-- USES:
-- KEYS: bots versions
-- ARGV: version, reason
-- Returns: removed | kept
local id, name = ARGV[1], string.match(ARGV[1], '^(.*)@%d+$')
local bot = cjson.decode(redis.call('HGET', KEYS[1], name))
local version = cjson.decode(redis.call('HGET', KEYS[2], id))
local is_settled = version.state == 'accepted' or version.state == 'suspended'
if not is_settled or (bot.active == id and bot.state ~= 'retired') then
  return 'kept'
end
version.state, version.reason = 'rejected', ARGV[2]
redis.call('HSET', KEYS[2], id, cjson.encode(version))
if bot.active == id then
  bot.newest = math.max(bot.newest or 0, tonumber(string.match(id, '%d+$')))
  bot.active = ''
  redis.call('HSET', KEYS[1], name, cjson.encode(bot))
end
return 'removed'
