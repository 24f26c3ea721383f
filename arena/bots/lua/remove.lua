-- Rejects a version for the quota of its owner; an active one, or one being tried, stays.
-- KEYS: bots versions
-- ARGV: id reason
-- Returns: removed | kept
local name = string.match(id, '^(.*)@%d+$')
local bot = cjson.decode(redis.call('HGET', keys.bots, name))
local version = cjson.decode(redis.call('HGET', keys.versions, id))
local is_settled = version.state == 'accepted' or version.state == 'suspended'
if not is_settled or (bot.active == id and bot.state ~= 'retired') then
  return 'kept'
end
version.state, version.reason, version.cause = 'rejected', reason, 'quota'
redis.call('HSET', keys.versions, id, cjson.encode(version))
if bot.active == id then
  bot.newest = math.max(bot.newest or 0, tonumber(string.match(id, '%d+$')))
  bot.active = ''
  redis.call('HSET', keys.bots, name, cjson.encode(bot))
end
return 'removed'
