-- Adds a version of a bot, and the bot itself when it is new; makes the version the active one.
-- USES: owning
-- KEYS: bots versions digests
-- ARGV: name owner digest rulesets house:flag version now
--   rulesets: as JSON; version: as JSON without its id; now: ISO 8601
-- Returns: {added | known, version} | {taken, owner} | {suspended}
local text = redis.call('HGET', keys.bots, name)
local bot = text and cjson.decode(text)
  or {name = name, owner = owner, versions = 0, created = now}
local refused = refusal(bot, owner)
if refused then
  return refused
end
local id = redis.call('HGET', keys.digests, name .. ' ' .. digest)
local answer = id and 'known' or 'added'
if id then
  -- A folder that is added untried is trusted, even if it was rejected before.
  local known = cjson.decode(redis.call('HGET', keys.versions, id))
  if known.state == 'rejected' then
    -- What its build made is gone.
    known.digest, known.source, known.built = digest, nil, nil
  end
  known.state, known.reason, known.cause, known.trusted = 'accepted', nil, nil, true
  redis.call('HSET', keys.versions, id, cjson.encode(known))
else
  bot.versions = bot.versions + 1
  id = string.format('%s@%.0f', name, bot.versions)
  redis.call('HSET', keys.digests, name .. ' ' .. digest, id)
  redis.call('HSET', keys.versions, id, version)
end
bot.state, bot.active, bot.house, bot.rulesets = 'active', id, house, rulesets
bot.reason, bot.faults = nil, nil
redis.call('HSET', keys.bots, name, cjson.encode(bot))
return {answer, id}
