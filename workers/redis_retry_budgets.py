"""One retry budget per endpoint for all processes: kept in Redis, asked only when a call failed."""

import asyncio
from collections import Counter

import redis.asyncio
from redis.exceptions import RedisError

from workers.engine.throttling.retry_budget import MOST, RESERVE, SHARE, LocalRetryBudgets

TOLD_EVERY = 50  # calls that went well: others' retries may need what they earned
KEPT_SECONDS = 600  # then it is full again, as after a loss of Redis
WITHDRAW = """
local balance = tonumber(redis.call('GET', KEYS[1])) or tonumber(ARGV[3])
balance = math.min(balance + ARGV[1] * ARGV[4], tonumber(ARGV[5]))
local paid = balance >= tonumber(ARGV[2]) and tonumber(ARGV[2]) or 0
redis.call('SET', KEYS[1], tostring(balance - paid), 'EX', ARGV[6])
return paid
"""


class RedisRetryBudgets:
    """While Redis is away, each worker has its part of the reserve and earns by its own calls."""

    def __init__(self, client: "redis.asyncio.Redis", workers: int) -> None:
        self._change = client.register_script(WITHDRAW)
        self._local = LocalRetryBudgets(RESERVE / workers)
        self._earned: Counter[str] = Counter()  # calls that went well and Redis has not heard of
        self._telling: set[asyncio.Task[bool]] = set()

    def deposit(self, endpoint: str) -> None:
        self._earned[endpoint] += 1
        if self._earned[endpoint] >= TOLD_EVERY and not self._telling:
            task = asyncio.get_running_loop().create_task(self._exchange(endpoint, 0))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def withdraw(self, endpoint: str) -> bool:
        return await self._exchange(endpoint, 1)

    async def _exchange(self, endpoint: str, retries: int) -> bool:
        earned = self._earned.pop(endpoint, 0)
        numbers = [earned, retries, RESERVE, SHARE, MOST, KEPT_SECONDS]
        try:
            paid = await self._change(keys=[f"permits:retries:{endpoint}"], args=numbers)
        except (RedisError, OSError):
            self._local.deposit(endpoint, earned)
            return bool(retries) and await self._local.withdraw(endpoint)
        return bool(paid)
