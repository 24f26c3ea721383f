-- Adds a match at the end of its flow.
-- USES: clock states
-- KEYS: ready spec state done delayed flows meta
-- ARGV: match spec flow_name cost:number weight:number cap:number epoch
--   cost in games; cap: the most matches that wait; epoch: "" for none
-- Returns: queued | duplicate | full | stale_epoch
local meta = redis.call('HMGET', keys.meta, 'epoch', 'vtime')
if epoch ~= '' and tonumber(epoch) < tonumber(meta[1] or 0) then
  return 'stale_epoch'
end
if redis.call('HEXISTS', keys.state, match) == 1
  or redis.call('HEXISTS', keys.done, match) == 1 then
  return 'duplicate'
end
local waiting = redis.call('ZCARD', keys.ready)
  + redis.call('ZCOUNT', keys.delayed, '-inf', '(' .. integer(PARKED))
if waiting >= cap then
  return 'full'
end

-- Start-time fair queueing: a flow's next match starts where its last one finished, in games per
-- weight, but never before the match that was leased last.
local flow = parse_flow(redis.call('HGET', keys.flows, flow_name))
local start = math.max(flow.finish, tonumber(meta[2] or 0))
flow.finish = start + math.max(1, math.floor(cost * 1000000 / weight + 0.5))
flow.weight = weight

if epoch ~= '' and tonumber(epoch) > tonumber(meta[1] or 0) then
  redis.call('HSET', keys.meta, 'epoch', epoch)
end
redis.call('HSET', keys.flows, flow_name, format_flow(flow))
redis.call('HSET', keys.spec, match, spec)
make_ready(keys, match, {
  flow = flow_name, cost = integer(cost), attempts = '0', voids = '0', tag = integer(start),
  enqueued = integer(now_ms()), reason = '',
})
return 'queued'
