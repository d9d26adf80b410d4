#!lua
-- mend: make the gate equal to the ledger. The only repair there is; it sets, it never adds.
--
-- Guarantees
--   All or nothing, and only if the stamp is still the expected one and the journal is empty; otherwise 'moved' and nothing changed.
--   Receipts, stock, held, totals and adjustments become the image's. Keys become the image's over what is there; places the image's only.
--   Everyone ever granted stays among the buyers (with 0 units), so that a lost "reserved" is still found.
--   The recorders' group starts at the first entry, never at "now".
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
--   1 expected   stamp of the snapshot, or '' for a gate without rules
--   2 group      the recorders' consumer group
--   then nine sections, each a count followed by that many values: rules (with the new stamp), totals, stock, held, receipts, buyers,
--   keys, places as field, value …, and adjustments as ids
-- Returns
--   'mended' | 'moved'
local rules, totals, stock, held, receipts = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local buyers, keys, places, adjustments, journal = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local expected, group = ARGV[1], ARGV[2]
local CHUNK = 1000 -- values a call: even, and far below what unpack can put on Lua's stack

if (redis.call('HGET', rules, 'stamp') or '') ~= expected then return 'moved' end
if redis.call('XLEN', journal) > 0 then
  redis.pcall('XGROUP', 'CREATE', journal, group, '0') -- a journal that lost its group: let the recorders read it first
  return 'moved'
end

local at = 3
local function section()
  local last = at + tonumber(ARGV[at])
  at = at + 1
  return function()
    if at > last then return nil end
    local values = {}
    while at <= last and #values < CHUNK do
      values[#values + 1] = ARGV[at]
      at = at + 1
    end
    return values
  end
end

redis.call('DEL', rules, totals, stock, held, receipts, places, adjustments)
for values in section() do redis.call('HSET', rules, unpack(values)) end
for values in section() do redis.call('HSET', totals, unpack(values)) end
for values in section() do redis.call('HSET', stock, unpack(values)) end
for values in section() do redis.call('HSET', held, unpack(values)) end
for values in section() do redis.call('HSET', receipts, unpack(values)) end
local known = redis.call('HKEYS', buyers)
for first = 1, #known, CHUNK / 2 do
  local values = {}
  for n = first, math.min(first + CHUNK / 2 - 1, #known) do
    values[#values + 1] = known[n]
    values[#values + 1] = '0'
  end
  redis.call('HSET', buyers, unpack(values))
end
for values in section() do redis.call('HSET', buyers, unpack(values)) end
for values in section() do redis.call('HSET', keys, unpack(values)) end
for values in section() do redis.call('HSET', places, unpack(values)) end
for values in section() do redis.call('SADD', adjustments, unpack(values)) end
redis.pcall('XGROUP', 'CREATE', journal, group, '0', 'MKSTREAM') -- BUSYGROUP: it is there already
return 'mended'
