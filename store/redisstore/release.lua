-- Gives up an owner's claim; changes nothing in any other state.
--
-- KEYS[1]  the key
-- ARGV[1]  owner
--
-- Returns the state found: 'F' free, 'A' acquired, 'H' held, 'D' done.

local found = state(redis.call('GET', KEYS[1]), ARGV[1], milliseconds())
if found == 'A' then
  redis.call('DEL', KEYS[1])
end
return found
