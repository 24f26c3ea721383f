-- The ladder's rating in exact integers; equal, bit for bit, to arena.ratings.elo.
-- All numbers are whole and below 2^53, where doubles are exact.

local MICRO = 1000000
local FLOOR = 100 * MICRO
local LIMIT = 800 * MICRO
local PROVISIONAL = 30
local EXPECTED = '@ELO_TABLE@' -- seven digits an entry, by whole Elo of lead

local function entry(lead)
  return tonumber(string.sub(EXPECTED, 7 * lead + 1, 7 * lead + 7))
end

local function expected(difference)
  local lead = math.min(math.abs(difference), LIMIT)
  local part = lead % MICRO
  local whole = (lead - part) / MICRO
  local here = entry(whole)
  local score = here + math.floor((entry(whole + 1) - here) * part / MICRO)
  return difference >= 0 and score or MICRO - score
end

-- Rounds halves away from zero.
local function divide_rounding(numerator, denominator)
  local size = math.floor((2 * math.abs(numerator) + denominator) / (2 * denominator))
  return numerator >= 0 and size or -size
end

local function k_factor(entrants, rated_matches)
  local provisional = rated_matches < PROVISIONAL
  if entrants == 2 then
    return provisional and 40 or 16
  elseif entrants == 3 then
    return provisional and 52 or 26
  end
  return provisional and 64 or 32
end

-- Returns the new ratings; scores are those of the pairs i < j in lexicographic order.
local function update(ratings, scores, k)
  local entrants, changes, pair = #ratings, {}, 0
  for i = 1, entrants do
    changes[i] = 0
  end
  for i = 1, entrants - 1 do
    for j = i + 1, entrants do
      pair = pair + 1
      local surprise = scores[pair] - expected(ratings[i] - ratings[j])
      changes[i] = changes[i] + divide_rounding(k[i] * surprise, entrants - 1)
      changes[j] = changes[j] - divide_rounding(k[j] * surprise, entrants - 1)
    end
  end
  local after = {}
  for i = 1, entrants do
    after[i] = math.max(FLOOR, ratings[i] + changes[i])
  end
  return after
end
