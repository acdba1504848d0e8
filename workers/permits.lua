-- One exchange of permits, atomic, on this server's clock.
--
-- KEYS, 7 per quota: held, wanted, expires, weights, due, tokens_due, state
-- ARGV[1], a line each (one text is written many times faster than a list): holder, want, lease ms, tokens each, good, throttled, troubled, late, tokens settled,
--   pause ms, told requests per minute, told tokens per minute, permits unused, nanodollars each,
--   nanodollars settled, calls and nanodollars last heard to be used, calls refused in a row, with
--   which error, how many of those in a row are too many, calls that the server works on at once (0: unknown),
--   failures since the last good one, whether the holder was here before,
--   then 12 per quota: holding, limit, requests per minute, tokens per minute, group, weight, flags (1 adaptive, 2 guarded),
--   calls allowed in all (-1: any number), calls stored, nanodollars allowed, nanodollars stored, models that
--   must refuse before it stops (0: refusals are not counted)
-- Answer: grant, surplus, wait ms, flags (1 paced, 2 the breaker is open), what is spent (1 calls, 2 dollars),
--   refusals in a row if they are too many, calls and nanodollars used, in use per quota, then 4 per change: quota number, before, after, reason

local START = 20 -- calls in flight under an adaptive limit, to begin with
local CUT = 0.8
local COOLDOWN_MS = 15000 -- one overload makes many 429s; cut the limit once, not once per 429
local REAL_PAUSE_MS = 1000 -- a shorter one: the quota is used up, but flows
local TROUBLE_MS = 5000 -- no growth for this long after 5xx or time-outs
local TROUBLE_SHARE = 5 -- as many good calls for each of them are no trouble
local FULL = 0.8 -- a limit that is not used this much does not grow
local NEWS = 1.1 -- growth by less is not worth a line
local FAILURES_IN_A_ROW = 5
local WINDOW_MS, WINDOW_CALLS = 30000, 20 -- half of this many failing opens the breaker too
local FIRST_REST_MS, LONGEST_REST_MS = 15000, 300000
local SHORT_OUTAGE_MS = 90000 -- the rests double only after it: most outages end before
local TOLD_MS = 600000 -- how long a provider's word about its own limits is believed
local PAUSED_MS = 1000 -- how often a paused limit is asked again; a resumed one is told at once
local MEMORY, FORGOT_MS = 'permits:memory', 1200 -- holders repeat what they hold every 500 ms
local SHUT_MS = 2000 -- after too many refusals: time to store the pause, and for all to read it
local QUEUEING_MS = 60000 -- no growth for this long after calls were seen to wait at the server
local TURN_MS = 200 -- what is left over by the shares goes round in turns of this length

local said = {}
for line in string.gmatch(ARGV[1], '([^\n]*)\n') do said[#said + 1] = line end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder, want, lease = said[1], tonumber(said[2]), tonumber(said[3])
local tokens_each = math.max(1, tonumber(said[4]))
local good, throttled, troubled = tonumber(said[5]), tonumber(said[6]), tonumber(said[7])
local late = tonumber(said[8])
local settled, pause = tonumber(said[9]), tonumber(said[10])
local told_rpm, told_tpm = tonumber(said[11]), tonumber(said[12])
local unused, nanos_each, nanos_settled = tonumber(said[13]), tonumber(said[14]), tonumber(said[15])
local heard_calls, heard_nanos = tonumber(said[16]), tonumber(said[17])
local refused, refusal, too_many = tonumber(said[18]), said[19], tonumber(said[20])
local bears = tonumber(said[21])
local row = tonumber(said[22])
local was_here = said[23] == '1'
local HEAD, PER_QUOTA = 23, 12
local quotas = #KEYS / 7

local grant, surplus, wait, is_paced = want, 0, 0, 0
local in_use, counts_tokens, starts, changes = {}, {}, {}, {}
local breaker = 0
local reserved, spent = {}, 0 -- of allowances; what of them leaves no room
local refusals = 0 -- in a row, if they are too many

local function number(key, field, default)
  return tonumber(redis.call('HGET', key, field)) or default
end

local function change(quota, before, after, reason)
  changes[#changes + 1] = {quota, before, after, reason}
end

-- How the calls of the last while went, over all processes.
local function watch(state)
  local began = number(state, 'began', now)
  local all, bad = number(state, 'all', 0), number(state, 'bad', 0)
  if now - began > WINDOW_MS then began, all, bad = now, 0, 0 end
  local seen = {all = all + good + troubled + late, bad = bad + troubled + late}
  -- A time-out says nothing about the next call: only failures that came at once make a row.
  seen.row = row + (good > 0 and 0 or number(state, 'row', 0))
  redis.call('HSET', state, 'began', began, 'all', seen.all, 'bad', seen.bad, 'row', seen.row)
  return seen
end

-- The limit that adapts: slow start, additive growth, one cut per episode of 429s.
local function adapt(quota, state, most, used, seen)
  if most == 0 then return 0 end -- paused by a person: what was learnt is kept
  local limit = math.min(number(state, 'limit', math.min(START, most)), most)
  local before, slow = limit, number(state, 'slow', 1)
  local reason = 'grown: all answered'
  local announced = number(state, 'announced', limit)
  if throttled > 0 then
    if now >= number(state, 'cool', 0) then
      limit, slow, reason = math.max(1, math.floor(limit * CUT)), 0, 'cut: the provider said 429'
      redis.call('HSET', state, 'cool', now + math.max(COOLDOWN_MS, pause), 'credit', 0)
    end
  elseif troubled + late > 0 and seen.bad >= 3 and seen.bad * TROUBLE_SHARE > seen.all then
    redis.call('HSET', state, 'calm', now + TROUBLE_MS)
  elseif good > 0 and used >= limit * FULL and limit < most
    and now >= number(state, 'cool', 0) and now >= number(state, 'calm', 0)
    and now - number(state, 'bore', 0) >= QUEUEING_MS then
    local credit = number(state, 'credit', 0) + good
    if slow == 1 then
      limit, credit, reason = limit + credit, 0, 'slow start'
    elseif credit >= limit then
      limit, credit = limit + math.max(1, math.floor(limit * 0.05)), 0
    end
    redis.call('HSET', state, 'credit', credit)
  end
  limit = math.min(limit, most)
  redis.call('HSET', state, 'limit', limit, 'slow', slow)
  local is_news = limit < before or limit == most
    or (limit >= announced * NEWS and now - number(state, 'said', 0) >= 1000)
  if limit < announced and reason == 'grown: all answered' then reason = 'lowered' end
  if limit ~= announced and is_news then
    change(quota, announced, limit, reason)
    announced = limit
    redis.call('HSET', state, 'said', now)
  end
  redis.call('HSET', state, 'announced', announced)
  return limit
end

-- After a pause the calls come back by and by, doubling: all at once would be refused again, and
-- pause again. A moment's pause halves what may fly, a real one leaves an eighth.
local function return_gently(state, limit, used)
  local known = number(state, 'ramp', nil)
  local ramp = math.min(known or limit, limit)
  if throttled > 0 and pause >= REAL_PAUSE_MS then
    ramp = math.max(1, math.min(ramp, math.floor(limit / 8)))
  elseif throttled > 0 and now >= number(state, 'gate', 0) then -- else of the same episode
    ramp = math.max(1, math.floor(ramp / 2))
  elseif used <= ramp then -- above it, those that end began before the pause
    ramp = ramp + good
  end
  if ramp < limit then redis.call('HSET', state, 'ramp', ramp)
  elseif known then redis.call('HDEL', state, 'ramp') end
  return math.min(limit, ramp)
end

-- The breaker: failing in a row, or mostly, stops the calls; then one probe at a time.
local function guard(quota, state, limit, seen)
  local rest = number(state, 'rest', 0)
  local is_open = rest > 0
  local is_failing = seen.row >= FAILURES_IN_A_ROW
    or (seen.all >= WINDOW_CALLS and seen.bad * 2 >= seen.all)
  if is_open and good > 0 then
    rest = 0
    redis.call('HSET', state, 'row', 0, 'all', 0, 'bad', 0)
    change(quota, 1, limit, 'breaker closed: the provider answers again')
  elseif is_open and troubled + late > 0 and now >= number(state, 'until', 0) then
    if now - number(state, 'opened', now) >= SHORT_OUTAGE_MS then
      rest = math.min(LONGEST_REST_MS, rest * 2)
    end
    redis.call('HSET', state, 'until', now + rest)
  elseif not is_open and is_failing and troubled + late > 0 then
    rest = FIRST_REST_MS
    redis.call('HSET', state, 'until', now + rest, 'opened', now)
    change(quota, limit, 0, 'breaker opened: ' .. seen.bad .. ' of ' .. seen.all .. ' calls failed')
  end
  redis.call('HSET', state, 'rest', rest)
  if rest == 0 then return limit end
  breaker = 2
  local left = number(state, 'until', 0) - now
  if left > 0 then
    wait = math.max(wait, left)
    return 0
  end
  return math.min(limit, 1)
end

-- How many permits this holder may have: its group's share of the limit, and whatever the others
-- do not ask for.
local function share(held, wanted, weights, mine, group, limit)
  local holders, groups, total = {}, {}, 0
  local others, unmet = 0, 0
  local counts = redis.call('HGETALL', held)
  for i = 1, #counts, 2 do
    local name, count = counts[i], tonumber(counts[i + 1])
    local waits = tonumber(redis.call('HGET', wanted, name)) or 0
    if name == mine or count > 0 or waits > 0 then
      local of = string.match(name, '^(.-)|') or ''
      if not groups[of] then
        groups[of] = {weight = tonumber(redis.call('HGET', weights, of)) or 1, members = 0}
        total = total + groups[of].weight
      end
      groups[of].members = groups[of].members + 1
      holders[#holders + 1] = {name = name, group = of}
      if name ~= mine then
        others, unmet = others + count + waits, unmet + waits
      end
    end
  end
  table.sort(holders, function(a, b) return a.name < b.name end)
  local rank, floors, my_floor = 0, 0, 0
  for i, one in ipairs(holders) do
    local part = groups[one.group]
    local floor = math.floor(limit * part.weight / total / part.members)
    floors = floors + floor
    if one.name == mine then rank, my_floor = i - 1, floor end
  end
  local turn = (rank - math.floor(now / TURN_MS)) % #holders
  if turn < limit - floors then my_floor = my_floor + 1 end
  return math.max(my_floor, limit - others), unmet
end

-- Starts a minute: when the next one is due, and how many may go now.
local function pace(key, per_minute, each, settle)
  local burst = math.max(1, math.floor(per_minute / 100))
  local interval = 60000 / math.max(1, per_minute - burst)
  local due = math.max((tonumber(redis.call('GET', key)) or 0) + settle * interval, now)
  local allowance = now + math.max(burst, each) * interval - due
  local room = math.floor(allowance / (interval * each) + 1e-3)
  if room < 1 then wait = math.max(wait, interval * each - allowance) end
  grant = math.min(grant, room)
  is_paced = 1
  starts[#starts + 1] = {key = key, due = due, step = interval * each}
end

-- Calls that are refused for good, in a row, over all holders. Refusals come sooner than answers:
-- every model must be among them, or one that is refused would stop those that work.
local function count_refusals(state, models, model)
  if good + troubled + late > 0 then redis.call('HDEL', state, 'refused', 'refusal', 'refusing') end
  if refused > 0 then
    if redis.call('HGET', state, 'refusal') ~= refusal then
      redis.call('HSET', state, 'refusal', refusal, 'refused', 0, 'refusing', '')
    end
    local row = redis.call('HINCRBY', state, 'refused', refused)
    local refusing = redis.call('HGET', state, 'refusing')
    if not string.find(refusing, model .. '\n', 1, true) then
      refusing = refusing .. model .. '\n'
      redis.call('HSET', state, 'refusing', refusing)
    end
    local _, count = string.gsub(refusing, '\n', '')
    if row >= too_many and count >= models then
      refusals = row
      redis.call('HDEL', state, 'refused', 'refusal', 'refusing')
      redis.call('HSET', state, 'shut', now + SHUT_MS)
    end
  end
  local shut = number(state, 'shut', 0) - now
  if shut > 0 then grant, wait = 0, math.max(wait, shut) end
end

-- What may be used in all: reserved with the grant, settled when the call has ended. Where this
-- server has forgotten, what the asker last heard counts; and never less than what is stored.
local function allow(number_of, state, field, total, stored, heard, each, settle, used)
  if total < 0 then return end
  local sum = math.max(number(state, field, heard) + settle, stored)
  local room = math.floor((total - sum) / each)
  if room < 1 then
    wait = math.max(wait, PAUSED_MS)
    if want > 0 and used == 0 then spent = number_of end
  end
  grant = math.min(grant, math.max(0, room))
  is_paced = 1
  reserved[number_of] = {state = state, field = field, sum = sum, each = each}
end

-- Calls that ended, 429s, failures and tokens of this minute and the last, for the endpoints page.
-- Tokens are known only where they are limited: elsewhere nothing is reserved.
local function count_minute(state, tokens)
  local minute = math.floor(now / 60000)
  local known = number(state, 'minute', 0)
  if known ~= minute then
    local last = known == minute - 1
    for _, name in ipairs({'calls', 'throttled', 'failed', 'tokens'}) do
      redis.call('HSET', state, 'last_' .. name, last and number(state, name, 0) or 0, name, 0)
    end
    redis.call('HSET', state, 'minute', minute)
  end
  redis.call('HINCRBY', state, 'calls', good + throttled + troubled + late)
  redis.call('HINCRBY', state, 'tokens', tokens)
  redis.call('HINCRBY', state, 'throttled', throttled)
  redis.call('HINCRBY', state, 'failed', troubled + late)
end

local function stricter(given, told)
  if given > 0 and told > 0 then return math.min(given, told) end
  return given > 0 and given or told
end

for i = 1, quotas do
  local held, wanted, expires, weights, due, tokens_due, state = unpack(KEYS, 7*i-6, 7*i)
  local base = HEAD + (i - 1) * PER_QUOTA
  local holding, limit = tonumber(said[base+1]), tonumber(said[base+2])
  local rpm, tpm = tonumber(said[base+3]), tonumber(said[base+4])
  local group, weight, flags = said[base+5], said[base+6], tonumber(said[base+7])
  local mine = group .. '|' .. holder
  for _, dead in ipairs(redis.call('ZRANGEBYSCORE', expires, '-inf', now)) do
    redis.call('HDEL', held, dead)
    redis.call('HDEL', wanted, dead)
    redis.call('ZREM', expires, dead)
  end
  redis.call('HSET', held, mine, holding)
  redis.call('HSET', weights, group, weight)
  redis.call('ZADD', expires, now + lease, mine)
  local used = 0
  for _, count in ipairs(redis.call('HVALS', held)) do used = used + tonumber(count) end
  local seen = flags > 0 and watch(state)
  if bears > 0 and flags >= 2 then redis.call('HSET', state, 'bears', bears, 'bore', now) end
  if flags % 2 == 1 then
    if told_rpm > 0 then redis.call('HSET', state, 'rpm', told_rpm, 'told', now) end
    if told_tpm > 0 then redis.call('HSET', state, 'tpm', told_tpm, 'told', now) end
    if now - number(state, 'told', 0) < TOLD_MS then
      rpm, tpm = stricter(rpm, number(state, 'rpm', 0)), stricter(tpm, number(state, 'tpm', 0))
    end
    limit = return_gently(state, adapt(i, state, limit, used, seen), used)
  end
  if limit == 0 then wait = math.max(wait, PAUSED_MS) end
  if flags >= 2 then
    limit = guard(i, state, limit, seen)
    if pause > 0 then
      redis.call('HSET', state, 'gate', math.max(number(state, 'gate', 0), now + pause))
    end
    local shut = number(state, 'gate', 0) - now
    if shut > 0 then grant, wait = 0, math.max(wait, shut) end
  end
  local most, unmet = share(held, wanted, weights, mine, group, limit)
  if unmet > 0 then surplus = math.max(surplus, math.min(unmet, holding - most)) end
  if holding > limit then surplus = math.max(surplus, holding - limit) end
  grant = math.min(grant, limit - used, unmet > 0 and most - holding or grant)
  if rpm > 0 then pace(due, rpm, 1, 0) end
  if tpm > 0 then pace(tokens_due, tpm, tokens_each, settled) end
  local calls, calls_stored = tonumber(said[base+8]), tonumber(said[base+9])
  local nanos, nanos_stored = tonumber(said[base+10]), tonumber(said[base+11])
  allow(1, state, 'calls_used', calls, calls_stored, heard_calls, 1, -unused, used)
  allow(2, state, 'nanos_used', nanos, nanos_stored, heard_nanos, nanos_each, nanos_settled, used)
  local models = tonumber(said[base+12])
  if models > 0 then count_refusals(state, models, KEYS[#KEYS]) end
  in_use[i], counts_tokens[i] = used, tpm > 0
end

-- A server that was emptied does not know what others hold: no more until all have said it again.
if not redis.call('GET', MEMORY) then
  redis.call('SET', MEMORY, was_here and now + FORGOT_MS or now)
end
local silence = tonumber(redis.call('GET', MEMORY)) - now
if silence > 0 then grant, wait = 0, math.max(wait, silence) end

grant = math.max(0, math.floor(grant))
local answer = {grant, math.max(0, surplus), math.ceil(wait), is_paced + breaker, spent, refusals}
for number_of = 1, 2 do
  local one = reserved[number_of]
  local sum = one and one.sum + grant * one.each or 0
  if one then redis.call('HSET', one.state, one.field, string.format('%.0f', sum)) end
  answer[#answer + 1] = sum
end
for i = 1, quotas do
  local held, wanted = KEYS[7*i-6], KEYS[7*i-5]
  local base = HEAD + (i - 1) * PER_QUOTA
  local mine = said[base+5] .. '|' .. holder
  redis.call('HSET', held, mine, tonumber(said[base+1]) + grant)
  redis.call('HSET', wanted, mine, want - grant)
  for part = 1, 4 do redis.call('PEXPIRE', KEYS[7*i-7+part], lease * 6) end
  count_minute(KEYS[7*i], counts_tokens[i] and math.floor(grant * tokens_each + settled) or 0)
  redis.call('PEXPIRE', KEYS[7*i], TOLD_MS)
  answer[#answer + 1] = in_use[i] + grant
end
for _, start in ipairs(starts) do
  redis.call('SET', start.key, string.format('%.6f', start.due + grant * start.step), 'PX', 120000)
end
for _, one in ipairs(changes) do
  for part = 1, 4 do answer[#answer + 1] = one[part] end
end
return answer
