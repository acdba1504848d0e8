-- One exchange about flights: what ended, what goes on, who may start.
-- A flight's key holds  f<holder> flown by a holder   w<holder> the same, and others wait for it
--                       d         it landed: the answer is, or will soon be, in the cache
--                       r<reply>  it landed, and here is the answer
-- ARGV: holder, lock ms, kept ms, hand-over ms, number of endings, number that go on; then two texts
-- of lines, since a client writes one text many times faster than a list: the keys of endings, of
-- flights that go on and of claims; and per ending
--   x          failed: free for the next      d  answer is kept in the cache
--   f          free, unless others wait       r<reply> or s<reply>  the answer itself, kept long or short
--   k          has landed, and is still not in the cache: its mark stays
-- Returns which endings others wait for (their answer is wanted), one letter per claim
--   m mine, w wait, d look into the cache, r here is a reply
-- and the replies. Letters in one text: a client reads it many times faster than a list.
local flown, awaited = 'f' .. ARGV[1], 'w' .. ARGV[1]
local lock, kept, handed = ARGV[2], ARGV[3], ARGV[4]
local endings, renewals = tonumber(ARGV[5]), tonumber(ARGV[6])
local wanted, answers, replies = {}, {}, {}

local function lines(text)
  local found = {}
  for line in string.gmatch(text, '[^\n]+') do found[#found + 1] = line end
  return found
end

local keys, hows = lines(ARGV[7]), lines(ARGV[8])

for i = 1, endings do
  local key, how = keys[i], hows[i]
  local state = redis.call('GET', key)
  local kind = string.sub(how, 1, 1)
  if kind == 'k' then
    if not state then
      redis.call('SET', key, 'd', 'PX', kept)
    elseif state == 'd' or string.sub(state, 1, 1) == 'r' then
      redis.call('PEXPIRE', key, kept)
    end
  elseif kind == 'r' or kind == 's' then
    if not state or state == 'd' or state == flown or state == awaited then
      redis.call('SET', key, 'r' .. string.sub(how, 2), 'PX', kind == 'r' and kept or handed)
    end
  elseif state == awaited and how ~= 'x' then
    redis.call('SET', key, 'd', 'PX', kept)
    wanted[#wanted + 1] = i
  elseif how == 'd' and (not state or state == flown) then
    redis.call('SET', key, 'd', 'PX', kept)
  elseif state == flown or state == awaited then
    redis.call('DEL', key)
  end
end

for i = endings + 1, endings + renewals do
  local state = redis.call('GET', keys[i])
  if state == flown or state == awaited then
    redis.call('PEXPIRE', keys[i], lock)
  elseif not state then  -- lost with a restart of this server
    redis.call('SET', keys[i], flown, 'PX', lock)
  end
end

for i = endings + renewals + 1, #keys do
  local state = redis.call('GET', keys[i])
  local answer = 'w'
  if not state then
    redis.call('SET', keys[i], flown, 'PX', lock)
    answer = 'm'
  elseif state == flown or state == awaited then
    answer = 'm'
  elseif string.sub(state, 1, 1) == 'f' then
    redis.call('SET', keys[i], 'w' .. string.sub(state, 2), 'KEEPTTL')
  elseif string.sub(state, 1, 1) == 'r' then
    answer = 'r'
    replies[#replies + 1] = string.sub(state, 2)
  elseif state == 'd' then
    answer = 'd'
  end
  answers[#answers + 1] = answer
end
return {wanted, table.concat(answers), replies}
