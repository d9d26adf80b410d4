#!lua
-- settle: mark one receipt as paid.
--
-- Guarantees
--   Changes no stock and no licence, only whether the units count as held; the gate can then tell all_held from sold_out.
--   Any number of times: the second changes nothing.
-- KEYS
--   1 rules
--   2 held
--   3 receipts
-- ARGV
--   1 order
--   2 stamp     fresh and random
-- Returns
--   'settled' | 'absent' (no such receipt) | 'not_ready' (no rules)
local rules, held, receipts = KEYS[1], KEYS[2], KEYS[3]
local order, stamp = ARGV[1], ARGV[2]

if redis.call('EXISTS', rules) == 0 then return 'not_ready' end
local receipt = redis.call('HGET', receipts, order)
if not receipt then return 'absent' end
local unpaid, variant, quantity = string.match(receipt, '^(%d+ (%d+) (%d+) %d+ )0$')
if not unpaid then return 'settled' end

redis.call('HSET', rules, 'stamp', stamp)
redis.call('HSET', receipts, order, unpaid .. '1')
redis.call('HINCRBY', held, variant, -quantity)
return 'settled'
