#!lua
-- adjust: the seller adds units to a variant, or takes unsold ones away.
--
-- Guarantees
--   Once per operation id, however often it is called; the ledger counted it first. Taking away fails whole when too few are left.
-- KEYS
--   1 rules
--   2 totals
--   3 stock
--   4 adjustments
-- ARGV
--   1 operation  its id in the ledger
--   2 variant
--   3 units      negative: take away
--   4 stamp      fresh and random
-- Returns
--   'done' | 'repeated' | 'too_few' | 'not_ready' (no rules, or a variant the gate does not know before the next mend)
local rules, totals, stock, adjustments = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local operation, variant, units, stamp = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

if redis.call('EXISTS', rules) == 0 then return 'not_ready' end
if redis.call('SISMEMBER', adjustments, operation) == 1 then return 'repeated' end
local left = redis.call('HGET', stock, variant)
if not left then return 'not_ready' end
if left + units < 0 then return 'too_few' end

redis.call('HSET', rules, 'stamp', stamp)
redis.call('HINCRBY', totals, variant, units)
redis.call('HINCRBY', stock, variant, units)
redis.call('SADD', adjustments, operation)
return 'done'
