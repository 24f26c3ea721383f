-- Returns the answer with which a bot refuses an owner's version, or nil: it is another owner's, or
-- an operator suspended it (one that was suspended for its faults takes a better version).
local function refusal(bot, owner)
  if bot.owner ~= owner then
    return {'taken', bot.owner}
  end
  if bot.state == 'suspended' and not bot.faults then
    return {'suspended'}
  end
end
