-- Returns whether a version is claimed with this token; key claims.
local function is_claimed(key, id, token)
  local claim = redis.call('HGET', key, id)
  return claim and string.sub(claim, 1, #token) == token
end
