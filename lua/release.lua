#!lua
-- release: put back the units of one reservation, or hand them to the next in line.
--
-- Guarantees
--   The receipt of that reservation is the only licence: without it nothing comes back, however often this is called.
--   The stamp changes even when the receipt is absent, so a mend planned before this call cannot bring the receipt back after it.
--   Heirs are served in order as far as the units go: whole or not at all, within the limit, once per place. What they do not take is
--   public stock. They are served only while the drop is open and the journal has room.
--   An offer ends with the drop at the latest. One that would be shortened below OFFER_MS_MIN is not made.
--   With no order ('') nothing is released: the heirs are offered public stock.
-- KEYS
--   1 rules
--   2 stock
--   3 held
--   4 receipts
--   5 buyers
--   6 places
--   7 journal
-- ARGV
--   1 order     final in the ledger, or ''
--   2 stamp     fresh and random
--   then seven for each heir, in order of the waitlist: place, buyer, variant, quantity, order, digest, hold_ms ('': the drop's own)
-- Returns
--   {'released'}                            the units are public stock
--   {'offered', order, order …}             the heirs of these order ids have units
--   {'absent'}                              no such receipt (a confirmation: nothing is left to put back)
--   {'not_ready'}                           no rules (not a confirmation)
local rules, stock, held, receipts, buyers, places, journal = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local order, stamp = ARGV[1], ARGV[2]
local HEIRS_FROM, HEIR_FIELDS = 3, 7
local OFFER_MS_MIN = 120000

local door, opens_ms, closes_ms, clock_offset_ms, per_person, drop_hold_ms, journal_entries_max = unpack(redis.call('HMGET', rules,
  'door', 'opens_ms', 'closes_ms', 'clock_offset_ms', 'per_person', 'hold_ms', 'journal_entries_max'))
if not door then return {'not_ready'} end
redis.call('HSET', rules, 'stamp', stamp)

local outcome = 'absent'
local freed_variant
if order ~= '' then
  local receipt = redis.call('HGET', receipts, order)
  if not receipt then return {'absent'} end
  local buyer, variant, quantity, _, paid = string.match(receipt, '^(%d+) (%d+) (%d+) (%d+) (%d)$')
  local units, orders = string.match(redis.call('HGET', buyers, buyer), '^(%d+)(.*)$')
  local first, last = string.find(orders, ' ' .. order, 1, true)
  redis.call('HDEL', receipts, order)
  redis.call('HSET', buyers, buyer, string.format('%d%s%s', units - quantity, string.sub(orders, 1, first - 1), string.sub(orders, last + 1)))
  redis.call('HINCRBY', stock, variant, quantity)
  if paid == '0' then redis.call('HINCRBY', held, variant, -quantity) end
  outcome, freed_variant = 'released', variant
end

if door ~= 'open' then return {outcome} end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
local sale_ms = now_ms + clock_offset_ms
if sale_ms < tonumber(opens_ms) then return {outcome} end
local ends_in_ms = closes_ms ~= '' and closes_ms - sale_ms or math.huge

local answer = {outcome}
for at = HEIRS_FROM, #ARGV, HEIR_FIELDS do
  local place, buyer, variant, quantity, offered, digest, hold_ms = unpack(ARGV, at, at + HEIR_FIELDS - 1)
  hold_ms = tonumber(hold_ms ~= '' and hold_ms or drop_hold_ms)
  local units, orders = string.match(redis.call('HGET', buyers, buyer) or '0', '^(%d+)(.*)$')
  if (not freed_variant or variant == freed_variant)
    and ends_in_ms >= math.min(hold_ms, OFFER_MS_MIN)
    and redis.call('HEXISTS', places, place) == 0
    and units + quantity <= tonumber(per_person)
    and tonumber(redis.call('HGET', stock, variant) or 0) >= tonumber(quantity)
    and redis.call('XLEN', journal) < tonumber(journal_entries_max) then
    local reserved_ms = string.format('%.0f', now_ms)
    local pay_by_ms = string.format('%.0f', now_ms + math.min(hold_ms, ends_in_ms))
    redis.call('HINCRBY', stock, variant, -quantity)
    redis.call('HINCRBY', held, variant, quantity)
    redis.call('HSET', buyers, buyer, string.format('%d%s %s', units + quantity, orders, offered))
    redis.call('HSET', receipts, offered, string.format('%s %s %s %s 0', buyer, variant, quantity, pay_by_ms))
    redis.call('HSET', places, place, string.format('%s %s %s %s %s', offered, digest, pay_by_ms, variant, quantity))
    redis.call('XADD', journal, '*', 'order', offered, 'buyer', buyer, 'variant', variant, 'quantity', quantity,
      'key', 'place:' .. place, 'digest', digest, 'reserved_ms', reserved_ms, 'pay_by_ms', pay_by_ms, 'place', place)
    answer[1] = 'offered'
    answer[#answer + 1] = offered
  end
end
return answer
