-- Records a key as done, whatever it finds; a done marker stays as it is.
--
-- KEYS[1]  the key
-- ARGV[1]  owner
-- ARGV[2]  retention in ms
--
-- Returns the state found: 'F' free, 'A' acquired, 'H' held, 'D' done.

local now = milliseconds()
local found = state(redis.call('GET', KEYS[1]), ARGV[1], now)
if found ~= 'D' then
  redis.call('SET', KEYS[1], string.format('1D%015.0f', now), 'PX', ARGV[2])
end
return found
