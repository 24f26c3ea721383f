-- Reads the whole live state of a ladder at one moment.
-- KEYS: rating games meta
-- ARGV:
-- Returns: {sequence, bank, {bot, rating, ...}, {version, rated matches, ...}}
local meta = redis.call('HMGET', keys.meta, 'sequence', 'bank')
return {
  meta[1] or '0', meta[2] or '0', redis.call('HGETALL', keys.rating),
  redis.call('HGETALL', keys.games),
}
