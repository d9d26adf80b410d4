#!lua flags=no-writes
-- snapshot: everything the reconciler compares with the ledger.
--
-- Guarantees
--   One atomic read. A later mend that expects this stamp applies only if nothing was granted, released, settled or adjusted since.
-- KEYS
--   1 rules
--   2 totals
--   3 stock
--   4 receipts
--   5 adjustments
--   6 journal
-- ARGV
--   none
-- Returns
--   {seconds, microseconds, rules, journal, totals, stock, receipts, adjustments}
--   rules: field, value …   totals, stock: variant, units …   receipts: order, 'buyer variant quantity pay_by_ms paid' …   adjustments: ids
--   nil without rules
local rules, totals, stock, receipts, adjustments, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

if redis.call('EXISTS', rules) == 0 then return nil end
local time = redis.call('TIME')
return {time[1], time[2], redis.call('HGETALL', rules), redis.call('XLEN', journal), redis.call('HGETALL', totals),
  redis.call('HGETALL', stock), redis.call('HGETALL', receipts), redis.call('SMEMBERS', adjustments)}
