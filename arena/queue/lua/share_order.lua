-- Orders the ladders for a worker: the one that has had the least, by games, first.
-- KEYS: ladders share
-- ARGV:
-- Returns: rulesets
local virtual = tonumber(redis.call('HGET', keys.share, '') or 0)
local order = {}
for _, ruleset in ipairs(redis.call('SMEMBERS', keys.ladders)) do
  local finish = tonumber(redis.call('HGET', keys.share, ruleset) or 0)
  order[#order + 1] = {ruleset = ruleset, start = math.max(finish, virtual), finish = finish}
end
table.sort(order, function(a, b)
  if a.start ~= b.start then
    return a.start < b.start
  elseif a.finish ~= b.finish then
    return a.finish < b.finish
  end
  return a.ruleset < b.ruleset
end)
for at, each in ipairs(order) do
  order[at] = each.ruleset
end
return order
