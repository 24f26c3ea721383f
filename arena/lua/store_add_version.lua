-- Adds a version of a bot, and the bot itself when it is new; makes the version the active one.
-- USES: owning
-- KEYS: bots versions digests
-- ARGV: name, owner, digest, rulesets as JSON, house (1 or 0), version as JSON without its id, now
-- Returns: {added | known, version} | {taken, owner} | {suspended}
local name, owner, digest, rulesets, house, version, now =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1', ARGV[6], ARGV[7]

local text = redis.call('HGET', KEYS[1], name)
local bot = text and cjson.decode(text)
  or {name = name, owner = owner, versions = 0, created = now}
local refused = refusal(bot, owner)
if refused then
  return refused
end
local id = redis.call('HGET', KEYS[3], name .. ' ' .. digest)
local answer = id and 'known' or 'added'
if id then
  -- Whoever adds a folder here vouches for it, whatever became of it before.
  local known = cjson.decode(redis.call('HGET', KEYS[2], id))
  if known.state == 'rejected' then
    -- What its build made is gone.
    known.digest, known.source, known.built = digest, nil, nil
  end
  known.state, known.reason, known.trusted = 'accepted', nil, true
  redis.call('HSET', KEYS[2], id, cjson.encode(known))
else
  bot.versions = bot.versions + 1
  id = string.format('%s@%.0f', name, bot.versions)
  redis.call('HSET', KEYS[3], name .. ' ' .. digest, id)
  redis.call('HSET', KEYS[2], id, version)
end
bot.state, bot.active, bot.house, bot.rulesets = 'active', id, house, rulesets
bot.reason, bot.faults = nil, nil
redis.call('HSET', KEYS[1], name, cjson.encode(bot))
return {answer, id}
