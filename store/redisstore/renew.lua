-- Restarts the lease of an owner's claim; changes nothing in any other state.
--
-- KEYS[1]  the key
-- ARGV[1]  owner
-- ARGV[2]  lease in ms
--
-- Returns the state found: 'F' free, 'A' acquired, 'H' held, 'D' done.

local now = milliseconds()
local found = state(redis.call('GET', KEYS[1]), ARGV[1], now)
if found == 'A' then
  local claim = string.format('1C%015.0f', now + ARGV[2]) .. ARGV[1]
  redis.call('SET', KEYS[1], claim, 'PX', ARGV[2])
end
return found
