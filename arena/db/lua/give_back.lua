-- Releases a claim: the item is due again after a wait.
-- USES: claims
-- KEYS: due claims
-- ARGV: id token wait:number counts:flag
--   wait: in ms; counts: whether this was an attempt
-- Returns: ok | lost
if not is_claimed(keys.claims, id, token) then
  return 'lost'
end
return_claim(keys.due, keys.claims, id, wait, counts)
return 'ok'
