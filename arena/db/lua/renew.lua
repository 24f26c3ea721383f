-- Renews a claim.
-- USES: claims
-- KEYS: due claims
-- ARGV: id token duration:number
--   duration: from now on, in ms
-- Returns: ok | lost
if not is_claimed(keys.claims, id, token) then
  return 'lost'
end
set_due(keys.due, id, duration)
return 'ok'
