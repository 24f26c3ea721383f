-- Entries of a ladder's log; see log_binary.py for how they are written.

local FIELD = 'e'
local START = 1500000000 -- a new bot's rating in micro-Elo

-- Appends a record under the next sequence and returns that.
local function append(keys, record)
  local sequence = redis.call('HINCRBY', keys.meta, 'sequence', 1)
  redis.call('XADD', keys.log, string.format('%.0f-0', sequence), FIELD, record)
  return sequence
end

local function seconds_now()
  return tonumber(redis.call('TIME')[1])
end

-- Gives a new bot the starting rating, debited to the bank.
local function enter(keys, bot)
  append(keys, 'e' .. struct.pack('>I4', seconds_now()) .. bot)
  redis.call('HSET', keys.rating, bot, string.format('%.0f', START))
  redis.call('ZADD', keys.ladder, string.format('%.0f', START), bot)
  redis.call('HINCRBY', keys.meta, 'bank', string.format('%.0f', -START))
end
