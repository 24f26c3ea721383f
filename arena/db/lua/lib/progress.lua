-- Returns the answer with which a competition refuses what the scheduler of an epoch writes of it,
-- or nil: a newer scheduler is active, or it is not under way. Beside it, how far it follows the
-- log.
local function standing(meta_key, epoch)
  local meta = redis.call('HMGET', meta_key, 'state', 'epoch', 'cursor')
  if epoch < tonumber(meta[2] or 0) then
    return 'stale_epoch'
  end
  if meta[1] ~= 'running' and meta[1] ~= 'paused' then
    return meta[1] or ''
  end
  return nil, tonumber(meta[3] or 0)
end
