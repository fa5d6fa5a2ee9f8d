-- Records a key as done, whatever it finds; a done marker stays as it is.
--
-- KEYS[1]  the key
-- ARGV[1]  the owner's claim, as kept in the key
-- ARGV[2]  retention in ms
--
-- Returns the state found: 'F' free, 'A' acquired, 'H' held, 'D' done.

local value = redis.call('GET', KEYS[1])
local found = 'H'
if not value then
  found = 'F'
elseif value == ARGV[1] then
  found = 'A'
elseif string.sub(value, 2, 2) == 'D' then
  return 'D'
end
local now = redis.call('TIME')
redis.call('SET', KEYS[1], '1D' .. now[1] .. ':' .. now[2], 'PX', ARGV[2])
return found
