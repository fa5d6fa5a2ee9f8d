-- Takes a key for an owner until its lease has passed.
--
-- KEYS[1]  the key
-- ARGV[1]  owner
-- ARGV[2]  lease in ms
--
-- Returns 'A' acquired, 'H' held, or 'D' done, followed by the time in ms when
-- it was done if this version can read it.

local now = milliseconds()
local value = redis.call('GET', KEYS[1])
local found = state(value, ARGV[1], now)
if found == 'H' then
  return 'H'
end
if found == 'D' then
  return string.sub(value, 1, 1) == '1' and 'D' .. string.sub(value, 3, 17) or 'D'
end
local claim = string.format('1C%015.0f', now + ARGV[2]) .. ARGV[1]
redis.call('SET', KEYS[1], claim, 'PX', ARGV[2])
return 'A'
