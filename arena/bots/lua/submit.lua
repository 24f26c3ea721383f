-- Registers a version that has to be tried before it may play, and queues its trial.
-- USES: clock owning
-- KEYS: bots versions digests trials steps
-- ARGV: name owner digest house:flag version now
--   digest: of the folder; version: as JSON without its id; now: ISO 8601
-- Returns: {added | known, version} | {taken, owner} | {suspended}
local text = redis.call('HGET', keys.bots, name)
local bot = text and cjson.decode(text) or {
  name = name, owner = owner, versions = 0, created = now, state = 'pending', active = '',
  rulesets = '[]', house = house,
}
local refused = refusal(bot, owner)
if refused then
  return refused
end
local id = redis.call('HGET', keys.digests, name .. ' ' .. digest)
if id then
  local known = cjson.decode(redis.call('HGET', keys.versions, id))
  -- Either way its files were removed; what they were built into has to be built anew.
  local is_removed = known.cause == 'quota' or known.again
  if known.state == 'rejected' and (is_removed or known.cause == 'arena') then
    known.state, known.reason, known.cause, known.again = 'uploaded', nil, nil, nil
    if is_removed then
      known.digest, known.source, known.built = digest, nil, nil
    end
    redis.call('HSET', keys.versions, id, cjson.encode(known))
    redis.call('HDEL', keys.steps, id)
    redis.call('ZADD', keys.trials, now_ms(), id)
  end
  return {'known', id}
end
if bot.state == 'retired' then
  -- The owner wants the bot back; one who retires it from now on does not.
  version = cjson.decode(version)
  version.revives = true
  version = cjson.encode(version)
end
bot.versions = bot.versions + 1
id = string.format('%s@%.0f', name, bot.versions)
redis.call('HSET', keys.digests, name .. ' ' .. digest, id)
redis.call('HSET', keys.versions, id, version)
redis.call('HSET', keys.bots, name, cjson.encode(bot))
redis.call('ZADD', keys.trials, now_ms(), id)
return {'added', id}
