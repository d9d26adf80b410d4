#!lua
-- door: arm, open, pause or close a drop, and set its times.
--
-- Guarantees
--   The next reserve sees the new door. The stamp changes, so a mend planned with the old door is refused.
--   A door that was closed or cancelled never opens again by a word that comes late: only a mend, which brings the ledger's, moves it.
-- KEYS
--   1 rules
-- ARGV
--   1 door       open | paused | closed | cancelled | not_ready
--   2 opens_ms
--   3 closes_ms  '': never
--   4 stamp      fresh and random
-- Returns
--   'done' | 'closed' (it has ended: nothing written) | 'not_ready' (no rules: nothing written)
local rules = KEYS[1]
local door, opens_ms, closes_ms, stamp = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if redis.call('EXISTS', rules) == 0 then return 'not_ready' end
local stands = redis.call('HGET', rules, 'door')
local ended, ends = stands == 'closed' or stands == 'cancelled', door == 'closed' or door == 'cancelled'
if ended and not ends then return 'closed' end
redis.call('HSET', rules, 'stamp', stamp, 'door', door, 'opens_ms', opens_ms, 'closes_ms', closes_ms)
return 'done'
