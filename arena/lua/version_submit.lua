-- Registers a version that has to be tried before it may play, and puts it in line.
-- USES: clock owning
-- KEYS: bots versions digests trials steps
-- ARGV: name, owner, digest of the folder, house (1 or 0), version as JSON without its id, now
--   (ISO 8601), what a failure of our own begins with, what a removal to make room begins with
-- Returns: {added | known, version} | {taken, owner} | {suspended}
local name, owner, digest, house, version, now, ours, removed =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1', ARGV[5], ARGV[6], ARGV[7], ARGV[8]

local text = redis.call('HGET', KEYS[1], name)
local bot = text and cjson.decode(text) or {
  name = name, owner = owner, versions = 0, created = now, state = 'pending', active = '',
  rulesets = '[]', house = house,
}
local refused = refusal(bot, owner)
if refused then
  return refused
end
local id = redis.call('HGET', KEYS[3], name .. ' ' .. digest)
if id then
  local known = cjson.decode(redis.call('HGET', KEYS[2], id))
  local reason = known.reason or ''
  -- Either way its files were removed; what they were built into has to be built anew.
  local is_removed = string.sub(reason, 1, #removed) == removed or known.again
  if known.state == 'rejected' and (is_removed or string.sub(reason, 1, #ours) == ours) then
    known.state, known.reason, known.again = 'uploaded', nil, nil
    if is_removed then
      known.digest, known.source, known.built = digest, nil, nil
    end
    redis.call('HSET', KEYS[2], id, cjson.encode(known))
    redis.call('HDEL', KEYS[5], id)
    redis.call('ZADD', KEYS[4], now_ms(), id)
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
redis.call('HSET', KEYS[3], name .. ' ' .. digest, id)
redis.call('HSET', KEYS[2], id, version)
redis.call('HSET', KEYS[1], name, cjson.encode(bot))
redis.call('ZADD', KEYS[4], now_ms(), id)
return {'added', id}
