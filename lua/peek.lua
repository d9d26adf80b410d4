#!lua flags=no-writes
-- peek: what a page, or a process's memory of "nothing left", needs to know.
--
-- Guarantees
--   One atomic read: the holders are exactly those granted before this moment, so nobody outside them holds a unit.
--   Writes nothing. The holders are sent only to those who want them, when every variant's stock is 0, and not when the caller
--   already has this stamp's: a drop may have a hundred thousand.
-- KEYS
--   1 rules
--   2 totals
--   3 stock
--   4 held
--   5 buyers
--   6 journal
-- ARGV
--   1 known     the stamp whose holders the caller has, '' for none of them, '-' when they are not wanted
-- Returns
--   {seconds, microseconds, stamp, door, opens_ms, closes_ms, clock_offset_ms, journal, totals, stock, held, holders}
--   totals, stock, held: variant, units, variant, units …   holders: every buyer ever granted, or false when not sent
--   nil without rules
local rules, totals, stock, held, buyers, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local known = ARGV[1]

local stamp, door, opens_ms, closes_ms, clock_offset_ms = unpack(redis.call('HMGET', rules,
  'stamp', 'door', 'opens_ms', 'closes_ms', 'clock_offset_ms'))
if not stamp then return nil end

local units = redis.call('HGETALL', stock)
local nothing_left = true
for at = 2, #units, 2 do nothing_left = nothing_left and units[at] == '0' end
local holders = false
if nothing_left and known ~= '-' and stamp ~= known then holders = redis.call('HKEYS', buyers) end

local time = redis.call('TIME')
return {time[1], time[2], stamp, door, opens_ms, closes_ms, clock_offset_ms, redis.call('XLEN', journal),
  redis.call('HGETALL', totals), units, redis.call('HGETALL', held), holders}
