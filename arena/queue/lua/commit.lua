-- Stores a result: log, ratings, bank and the end of the lease in one step.
-- USES: states log elo
-- KEYS: lease spec state done log rating games ladder meta
-- ARGV: match token digest rated:flag body entrants:number facts...
--   digest: 8 bytes; body: of the record; entrants: how many, n; facts: n bots, n versions,
--   n(n-1)/2 scores of the pairs i < j in millionths
-- Returns: {committed | already, sequence, record} | {conflict | stale | cancelled}
-- The first four bytes of the token, which tell a repeated commit from a stale one.
local fence = string.gsub(string.sub(token, 1, 8), '%x%x', function(hex)
  return string.char(tonumber(hex, 16))
end)

local mark = redis.call('HGET', keys.done, match)
if mark then
  if string.sub(mark, 5, 8) ~= fence then
    return {'stale'}
  end
  local sequence = struct.unpack('>I4', mark)
  local id = string.format('%.0f-0', sequence)
  local record = redis.call('XRANGE', keys.log, id, id)[1][2][2]
  if string.sub(record, 2, 9) ~= digest then
    return {'conflict'}
  end
  return {'already', sequence, record}
end
local state = parse_state(redis.call('HGET', keys.state, match))
if not state or state.token ~= token then
  return {'stale'}
end
if state.phase == 'cancelled' then
  return {'cancelled'}
end

-- All reads and computations; the writes follow below. The lists are arguments of one call each.
local bots, versions, before, after, factors, scores = {}, {}, {}, {}, {}, {}
local changes, bank, new_ratings, new_scores, new_games = {}, 0, {}, {}, {}
if rated then
  for i = 1, entrants do
    bots[i], versions[i] = facts[i], facts[entrants + i]
  end
  for pair = 1, entrants * (entrants - 1) / 2 do
    scores[pair] = tonumber(facts[2 * entrants + pair])
  end
  local ratings = redis.call('HMGET', keys.rating, unpack(bots))
  local games = redis.call('HMGET', keys.games, unpack(versions))
  for i = 1, entrants do
    before[i] = tonumber(ratings[i] or START)
    factors[i] = k_factor(entrants, tonumber(games[i] or 0))
  end
  after = update(before, scores, factors)
  for i = 1, entrants do
    local change, rating = after[i] - before[i], integer(after[i])
    changes[i], bank = struct.pack('>i4', change), bank - change
    new_ratings[2 * i - 1], new_ratings[2 * i] = bots[i], rating
    new_scores[2 * i - 1], new_scores[2 * i] = rating, bots[i]
    new_games[2 * i - 1], new_games[2 * i] = versions[i], integer((games[i] or 0) + 1)
  end

  for i = 1, entrants do
    if not ratings[i] then
      enter(keys, bots[i])
    end
  end
  redis.call('HSET', keys.rating, unpack(new_ratings))
  redis.call('ZADD', keys.ladder, 'XX', unpack(new_scores))
  redis.call('HSET', keys.games, unpack(new_games))
  if bank ~= 0 then
    redis.call('HINCRBY', keys.meta, 'bank', integer(bank))
  end
end
local now = redis.call('TIME')
local record = 'R' .. digest .. struct.pack('>I4I3B', tonumber(now[1]), tonumber(now[2]), #after)
  .. table.concat(changes) .. body
local sequence = append(keys, record)
redis.call('HSET', keys.done, match, struct.pack('>I4', sequence) .. fence)
redis.call('ZREM', keys.lease, match)
forget(keys, match)
return {'committed', sequence, record}
