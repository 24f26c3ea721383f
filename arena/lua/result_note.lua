-- Notes a ladder's result for the suspension of faulty versions and for the webhooks, once.
-- USES: clock events
-- KEYS: webhooks events event-bodies event-counts followed streaks versions bots placements
-- ARGV: ruleset, sequence of the result, results in a row that suspend, the most events of an owner,
--   whether the result is rated (1 or 0), number of entrants, then by entrant: version, whether it
--   was faulty (1 or 0), reason of a suspension, owner, id and body of the event of a forfeit ("" for
--   none), id and body of the event of a suspension
-- Returns: the versions that were suspended | nil when the result had been noted before
local ruleset, sequence, limit, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if sequence <= tonumber(redis.call('HGET', KEYS[5], ruleset) or 0) then
  return nil
end
redis.call('HSET', KEYS[5], ruleset, sequence)

local now = now_ms()

-- Returns whether the version is suspended now; its bot is, too, when the version is its active one.
local function suspend(id, reason)
  local text = redis.call('HGET', KEYS[7], id)
  local version = text and cjson.decode(text)
  if not version or version.state ~= 'accepted' then
    return false
  end
  version.state, version.reason = 'suspended', reason
  redis.call('HSET', KEYS[7], id, cjson.encode(version))
  local name = string.match(id, '^(.*)@%d+$')
  local bot = cjson.decode(redis.call('HGET', KEYS[8], name))
  if bot.active == id and bot.state == 'active' then
    bot.state, bot.reason, bot.faults = 'suspended', reason, true
    redis.call('HSET', KEYS[8], name, cjson.encode(bot))
    redis.call('SADD', KEYS[9], name)
  end
  return true
end

local suspended = {}
for entrant = 0, tonumber(ARGV[6]) - 1 do
  local id, faulty, reason, owner, forfeit, forfeit_body, suspension, suspension_body =
    unpack(ARGV, 7 + 8 * entrant, 14 + 8 * entrant)
  if forfeit ~= '' then
    post(KEYS, now, most, owner, forfeit, forfeit_body)
  end
  if ARGV[5] == '1' and faulty == '0' then
    redis.call('HDEL', KEYS[6], id)
  elseif ARGV[5] == '1' and redis.call('HINCRBY', KEYS[6], id, 1) >= limit then
    redis.call('HDEL', KEYS[6], id)
    if suspend(id, reason) then
      post(KEYS, now, most, owner, suspension, suspension_body)
      suspended[#suspended + 1] = id
    end
  end
end
return suspended
