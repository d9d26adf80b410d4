#!lua
-- limit: count calls of one name in a sliding window, or say how long to wait.
--
-- Guarantees
--   At most calls_max calls are counted in any window, whichever processes ask. Every call has a name of its own, so a burst in one
--   microsecond is not one call, and a question that is repeated after a lost answer is counted once.
--   A refused call is not counted: it extends nothing. The key holds at most calls_max calls and expires a window after the last of them.
-- KEYS
--   1 calls
-- ARGV
--   1 calls_max
--   2 window_us
--   and for every call, the one that is asked about last: its name, and how many microseconds ago it was made
-- Returns
--   '0'           counted
--   microseconds  refused; so long until the next one may be counted
local calls = KEYS[1]
local calls_max, window_us = tonumber(ARGV[1]), tonumber(ARGV[2])

local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', calls, '-inf', string.format('%.0f', now_us - window_us))
local counted = redis.call('ZCARD', calls)
local wait_us = '0'
for index = 3, #ARGV, 2 do
  local call, made_us = ARGV[index], now_us - tonumber(ARGV[index + 1])
  if redis.call('ZSCORE', calls, call) then
    wait_us = '0'
  elseif counted < calls_max then
    counted, wait_us = counted + 1, '0'
    redis.call('ZADD', calls, string.format('%.0f', made_us), call)
    redis.call('PEXPIRE', calls, math.ceil(window_us / 1000))
  else
    local oldest_us = tonumber(redis.call('ZRANGE', calls, 0, 0, 'WITHSCORES')[2])
    wait_us = string.format('%.0f', math.max(1, oldest_us + window_us - now_us))
  end
end
return wait_us
