"""Permits over the whole cluster: one Lua script on the Redis server's clock.

Each holder (a worker process) states what it holds and what it wants. Holdings expire when their
holder dies. While others wait with less than their share, a holder is asked to give back.
"""

import logging
from typing import Any

import redis.asyncio
from redis.exceptions import RedisError

from workers.engine.permits import (
    BUSY_RETRY_SECONDS,
    Grant,
    LocalPermits,
    Permits,
    Quota,
    burst_of,
    interval_of,
)

logger = logging.getLogger(__name__)

LEASE_MILLISECONDS = 10_000  # a dead holder's permits are free again after this long

# KEYS: per quota held:<key>, wanted:<key>, expires:<key>, due:<key>
# ARGV: holder, want, lease ms, then per quota: holding, limit, interval ms (0: no rate), burst
EXCHANGE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local holder, want, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local quotas = #KEYS / 4
local grant, surplus, wait = want, 0, 0
local seen = {}

for i = 1, quotas do
  local held, wanted, expires, due = KEYS[4*i-3], KEYS[4*i-2], KEYS[4*i-1], KEYS[4*i]
  local base = 3 + (i - 1) * 4
  local holding, limit = tonumber(ARGV[base+1]), tonumber(ARGV[base+2])
  local interval, burst = tonumber(ARGV[base+3]), tonumber(ARGV[base+4])
  for _, dead in ipairs(redis.call('ZRANGEBYSCORE', expires, '-inf', now)) do
    redis.call('HDEL', held, dead)
    redis.call('HDEL', wanted, dead)
    redis.call('ZREM', expires, dead)
  end
  redis.call('HSET', held, holder, holding)
  redis.call('ZADD', expires, now + lease, holder)
  local used = 0
  for _, count in ipairs(redis.call('HVALS', held)) do used = used + tonumber(count) end
  local unmet, active = 0, 1
  local wants = redis.call('HGETALL', wanted)
  for j = 1, #wants, 2 do
    if wants[j] ~= holder and tonumber(wants[j+1]) > 0 then
      unmet = unmet + tonumber(wants[j+1])
    end
  end
  local holdings = redis.call('HGETALL', held)
  for j = 1, #holdings, 2 do
    local waits = tonumber(redis.call('HGET', wanted, holdings[j]) or '0')
    if holdings[j] ~= holder and (tonumber(holdings[j+1]) > 0 or waits > 0) then
      active = active + 1
    end
  end
  local room = limit - used
  if unmet > 0 then
    local share = math.ceil(limit / active)
    room = math.min(room, share - holding)
    surplus = math.max(surplus, math.min(unmet, holding - share))
  end
  grant = math.min(grant, room)
  local next_due = now
  if interval > 0 then
    next_due = math.max(tonumber(redis.call('GET', due) or '0'), now)
    local allowance = now + burst * interval - next_due
    local starts = math.floor(allowance / interval + 1e-6)
    if starts < 1 then wait = math.max(wait, interval - allowance) end
    grant = math.min(grant, starts)
  end
  seen[i] = {used = used, next_due = next_due, interval = interval, holding = holding}
end

grant = math.max(0, math.floor(grant))
local answer = {grant, math.max(0, surplus), math.ceil(wait)}
for i = 1, quotas do
  local quota = seen[i]
  redis.call('HSET', KEYS[4*i-3], holder, quota.holding + grant)
  redis.call('HSET', KEYS[4*i-2], holder, want - grant)
  if quota.interval > 0 and grant > 0 then
    redis.call('SET', KEYS[4*i], tostring(quota.next_due + grant * quota.interval), 'PX', 120000)
  end
  for part = 1, 3 do redis.call('PEXPIRE', KEYS[4*i-4+part], lease * 6) end
  answer[3 + i] = quota.used + grant
end
return answer
"""


class RedisPermits:
    """Shared permits; while Redis is away, each worker keeps to its part of every limit."""

    def __init__(
        self, client: "redis.asyncio.Redis", holder: str, workers: int, local: LocalPermits
    ) -> None:
        self._exchange = client.register_script(EXCHANGE)
        self._holder = holder
        self._workers = workers
        self._fallback: Permits = local
        self._is_away = False

    async def exchange(
        self, quotas: tuple[Quota, ...], holding: tuple[int, ...], want: int
    ) -> Grant:
        try:
            answer = await self._exchange(
                keys=[name for quota in quotas for name in key_names(quota)],
                args=[self._holder, want, LEASE_MILLISECONDS, *quota_numbers(quotas, holding)],
            )
        except (RedisError, OSError):
            return await self._exchange_alone(quotas, holding, want)
        self._is_away = False
        permits, surplus, wait_ms, *in_use = answer
        retry_seconds = max(BUSY_RETRY_SECONDS, wait_ms / 1000)
        return Grant(permits, tuple(in_use), retry_seconds, surplus)

    async def _exchange_alone(
        self, quotas: tuple[Quota, ...], holding: tuple[int, ...], want: int
    ) -> Grant:
        if not self._is_away:
            logger.warning("Redis is away: each of %s workers keeps to its share.", self._workers)
        self._is_away = True
        shares = tuple(share_of(quota, self._workers) for quota in quotas)
        return await self._fallback.exchange(shares, holding, want)


def key_names(quota: Quota) -> list[str]:
    return [f"permits:{part}:{quota.key}" for part in ("held", "wanted", "expires", "due")]


def quota_numbers(quotas: tuple[Quota, ...], holding: tuple[int, ...]) -> list[Any]:
    numbers: list[Any] = []
    for quota, held in zip(quotas, holding, strict=True):
        rate = quota.requests_per_minute
        interval_ms = interval_of(rate) * 1000 if rate else 0
        numbers += [held, quota.max_concurrent, interval_ms, burst_of(rate) if rate else 0]
    return numbers


def share_of(quota: Quota, workers: int) -> Quota:
    """What one worker may do when it cannot ask the others. A limit below the number of workers
    is kept by rounding down to nothing rather than up."""
    rate = quota.requests_per_minute
    return Quota(
        quota.key, quota.max_concurrent // workers, max(1, rate // workers) if rate else None
    )
