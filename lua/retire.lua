#!lua flags=allow-oom
-- retire: the books are closed, the drop leaves Redis.
--
-- Guarantees
--   Every key of the drop goes in one step, and only if the stamp is still the expected one and the journal is empty.
-- KEYS
--   1 rules
--   2 totals
--   3 stock
--   4 held
--   5 receipts
--   6 buyers
--   7 keys
--   8 places
--   9 adjustments
--  10 journal
-- ARGV
--   1 expected   stamp
-- Returns
--   'retired' | 'moved' | 'absent' (no rules)
local rules, totals, stock, held, receipts = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local buyers, keys, places, adjustments, journal = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local expected = ARGV[1]

local stamp = redis.call('HGET', rules, 'stamp')
if not stamp then return 'absent' end
if stamp ~= expected or redis.call('XLEN', journal) > 0 then return 'moved' end
redis.call('UNLINK', rules, totals, stock, held, receipts, buyers, keys, places, adjustments, journal)
return 'retired'
