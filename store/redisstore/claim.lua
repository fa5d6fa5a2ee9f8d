-- Takes a key for an owner until its lease has passed.
--
-- KEYS[1]  the key
-- ARGV[1]  the owner's claim, as kept in the key
-- ARGV[2]  lease in ms
--
-- Returns 'A' acquired, 'H' held, or 'D' done followed by the time when it was
-- done, as kept in the key, if this version can read it.

if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then
  return 'A'
end
local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 'A'
end
if string.sub(value, 2, 2) ~= 'D' then
  return 'H'
end
if string.sub(value, 1, 1) ~= '1' then
  return 'D'
end
return 'D' .. string.sub(value, 3)
