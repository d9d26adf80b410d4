#!lua flags=allow-oom
-- ack: the ledger has these entries.
--
-- Guarantees
--   Acknowledged and deleted in one step, so the journal's length is what the ledger does not have yet. Nothing else shortens a journal.
-- KEYS
--   1 journal
-- ARGV
--   1 group     the recorders' consumer group
--   then the entry ids
-- Returns
--   number of entries deleted
local journal = KEYS[1]
local group = ARGV[1]
local CHUNK = 1000

local deleted = 0
for first = 2, #ARGV, CHUNK do
  local last = math.min(first + CHUNK - 1, #ARGV)
  redis.call('XACK', journal, group, unpack(ARGV, first, last))
  deleted = deleted + redis.call('XDEL', journal, unpack(ARGV, first, last))
end
return deleted
