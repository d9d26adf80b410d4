#!lua
-- reserve: give units of one variant to one buyer, or say why not.
--
-- Guarantees
--   One atomic step: key, door, clock, limit, stock, receipt and journal entry. A yes is in the journal before the buyer hears it.
--   The key is looked up first: whoever was granted hears the same grant again, whatever has happened since.
--   A no writes nothing, so the same key may win later. Units fit whole or not at all.
--   Nobody has more than HOLDS_MAX unpaid holds of a drop by buying (R14): who pays one, or gives one back, may buy again. Offers of
--   the waitlist are made beyond it, and count.
-- KEYS
--   1 rules
--   2 stock
--   3 held
--   4 receipts
--   5 buyers
--   6 keys
--   7 journal
-- ARGV
--   1 buyer
--   2 key
--   3 digest    stands for (variant, quantity): what was asked under the key
--   4 variant
--   5 quantity
--   6 order     fresh order id, used only if granted
--   7 stamp     fresh and random
-- Returns
--   {'reserved', order, pay_by_ms}          granted now, or before under this key
--   {'key_conflict'}                        this key was granted for something else
--   {'already_yours', allowed, order}       over the limit; order is '' when the buyer holds nothing. allowed 0, and the newest hold to
--                                           pay first: HOLDS_MAX of theirs are unpaid
--   {'not_open', opens_ms, now_ms}
--   {'sold_out' | 'all_held' | 'paused' | 'closed' | 'not_ready'}
local rules, stock, held, receipts, buyers, keys, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local buyer, key, digest, variant, quantity, order, stamp = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), ARGV[6], ARGV[7]
local HOLDS_MAX = 3

local door, opens_ms, closes_ms, per_person, hold_ms, clock_offset_ms, journal_entries_max = unpack(redis.call('HMGET', rules,
  'door', 'opens_ms', 'closes_ms', 'per_person', 'hold_ms', 'clock_offset_ms', 'journal_entries_max'))
if not door then return {'not_ready'} end

local buyers_key = buyer .. ':' .. key
local granted = redis.call('HGET', keys, buyers_key)
if granted then
  local granted_order, granted_digest, granted_pay_by_ms = string.match(granted, '^(%S+) (%S+) (%S+)')
  if granted_digest ~= digest then return {'key_conflict'} end
  return {'reserved', granted_order, granted_pay_by_ms}
end

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local sale_ms = now_ms + clock_offset_ms
if door == 'closed' or door == 'cancelled' or (closes_ms ~= '' and sale_ms >= tonumber(closes_ms)) then return {'closed'} end
if door == 'not_ready' then return {'not_ready'} end
if door == 'paused' then return {'paused'} end
if sale_ms < tonumber(opens_ms) then return {'not_open', opens_ms, string.format('%.0f', sale_ms)} end
if redis.call('XLEN', journal) >= tonumber(journal_entries_max) then return {'not_ready'} end

local units, orders = string.match(redis.call('HGET', buyers, buyer) or '0', '^(%d+)(.*)$')
if units + quantity > tonumber(per_person) then
  return {'already_yours', string.format('%d', math.max(0, per_person - units)), string.match(orders, '(%S+)$') or ''}
end
local owned = {}
for one in string.gmatch(orders, '%S+') do owned[#owned + 1] = one end
if #owned >= HOLDS_MAX then -- one look at no more receipts than a person may have units
  local unpaid, newest = 0, nil
  for at, receipt in ipairs(redis.call('HMGET', receipts, unpack(owned))) do
    if string.sub(receipt, -1) == '0' then unpaid, newest = unpaid + 1, owned[at] end
  end
  if unpaid >= HOLDS_MAX then return {'already_yours', '0', newest} end
end

local left = redis.call('HGET', stock, variant)
if not left then return {'not_ready'} end
if tonumber(left) < quantity then
  local unpaid = tonumber(redis.call('HGET', held, variant) or 0)
  return {unpaid > 0 and 'all_held' or 'sold_out'}
end

local reserved_ms = string.format('%.0f', now_ms)
local pay_by_ms = string.format('%.0f', now_ms + hold_ms)
redis.call('HSET', rules, 'stamp', stamp)
redis.call('HINCRBY', stock, variant, -quantity)
redis.call('HINCRBY', held, variant, quantity)
redis.call('HSET', buyers, buyer, string.format('%d%s %s', units + quantity, orders, order))
redis.call('HSET', receipts, order, string.format('%s %s %d %s 0', buyer, variant, quantity, pay_by_ms))
redis.call('HSET', keys, buyers_key, string.format('%s %s %s %s %d', order, digest, pay_by_ms, variant, quantity))
redis.call('XADD', journal, '*', 'order', order, 'buyer', buyer, 'variant', variant, 'quantity', quantity, 'key', key,
  'digest', digest, 'reserved_ms', reserved_ms, 'pay_by_ms', pay_by_ms)
return {'reserved', order, pay_by_ms}
