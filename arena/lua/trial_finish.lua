-- Ends a trial: the version is accepted, and then active unless a newer one was before; or rejected.
-- USES: clock claims events
-- KEYS: webhooks events event-bodies event-counts trials claims versions bots placements steps
-- ARGV: version, token, accepted or rejected, reason ("" for none), steps as JSON, id of the event,
--   its body, the most events of an owner, the version whose steps are forgotten
-- Returns: active | accepted | rejected | lost
local id, token, verdict, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not is_claimed(KEYS[6], id, token) then
  return 'lost'
end
redis.call('ZREM', KEYS[5], id)
redis.call('HDEL', KEYS[6], id)
redis.call('HSET', KEYS[10], id, ARGV[5])
redis.call('HDEL', KEYS[10], ARGV[9])
local version = cjson.decode(redis.call('HGET', KEYS[7], id))
version.state, version.reason = verdict, nil
if reason ~= '' then
  version.reason = reason
end
redis.call('HSET', KEYS[7], id, cjson.encode(version))

local name, number = string.match(id, '^(.*)@(%d+)$')
local bot = cjson.decode(redis.call('HGET', KEYS[8], name))
local answer = verdict
local by_operator = bot.state == 'suspended' and not bot.faults
local left = bot.state == 'retired' and not version.revives
local newest = math.max(bot.newest or 0, tonumber(string.match(bot.active, '%d+$') or 0))
if verdict == 'accepted' and not by_operator and not left and tonumber(number) > newest then
  bot.active, bot.rulesets, bot.state = id, cjson.encode(version.rulesets), 'active'
  bot.reason, bot.faults, bot.newest = nil, nil, tonumber(number)
  redis.call('HSET', KEYS[8], name, cjson.encode(bot))
  redis.call('SADD', KEYS[9], name)
  answer = 'active'
end
post(KEYS, now_ms(), tonumber(ARGV[8]), bot.owner, ARGV[6], ARGV[7])
return answer
