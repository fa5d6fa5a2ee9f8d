-- Gives up an owner's claim; changes nothing in any other state.
--
-- KEYS[1]  the key
-- ARGV[1]  the owner's claim, as kept in the key
--
-- Returns the state found: 'F' free, 'A' acquired, 'H' held, 'D' done.

local value = redis.call('GET', KEYS[1])
if not value then
  return 'F'
end
if value == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return 'A'
end
if string.sub(value, 2, 2) == 'D' then
  return 'D'
end
return 'H'
