-- Shared beginning of every script: what a key holds, as one owner sees it.
--
-- A value starts with two bytes that keep their place in every version:
--
--   1      format version, '1'
--   2      state: 'C' claimed or 'D' done, frozen for ever
--
-- and goes on, in version 1, with
--
--   3-17   time in ms by the server's clock, 15 decimal digits:
--          end of the lease ('C'), or when it was done ('D')
--   18-39  owner, 22 bytes; 'C' only
--
-- The key expires when its lease or retention ends.

local function milliseconds()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- state returns 'F' free, 'A' acquired (the owner's own), 'H' held or 'D'
-- done. A claim that this version cannot read is held: its owner may be alive.
local function state(value, owner, now)
  if not value then
    return 'F'
  end
  if string.sub(value, 2, 2) == 'D' then
    return 'D'
  end
  local lease_end = tonumber(string.sub(value, 3, 17))
  if string.sub(value, 1, 2) ~= '1C' or #value ~= 39 or not lease_end then
    return 'H'
  end
  -- Redis keeps a key up to and including the millisecond of its expiry.
  if lease_end < now then
    return 'F'
  end
  if string.sub(value, 18) == owner then
    return 'A'
  end
  return 'H'
end
