-- Reads the whole live state of a ladder at one moment.
-- KEYS: rating games meta
-- USES:
-- ARGV:
-- Returns: {sequence, archived, bank, {bot, rating, ...}, {version, rated matches, ...}}
local meta = redis.call('HMGET', KEYS[3], 'sequence', 'archived', 'bank')
return {
  meta[1] or '0', meta[2] or '0', meta[3] or '0', redis.call('HGETALL', KEYS[1]),
  redis.call('HGETALL', KEYS[2]),
}
