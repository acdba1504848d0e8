"""Retries are a small share of all calls, for all workers together."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis.asyncio

from workers.redis_retry_budgets import TOLD_EVERY, RedisRetryBudgets

ENDPOINT = "provider"


@pytest.fixture
async def client(settings: Any) -> AsyncIterator["redis.asyncio.Redis"]:
    client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
    yield client
    await client.aclose()


async def paid(budgets: RedisRetryBudgets, times: int, endpoint: str = ENDPOINT) -> int:
    return sum([await budgets.withdraw(endpoint) for _ in range(times)])


async def test_two_workers_share_one_reserve(client: "redis.asyncio.Redis") -> None:
    ann, ben = RedisRetryBudgets(client, 2), RedisRetryBudgets(client, 2)
    assert await paid(ann, 7) == 7
    assert await paid(ben, 7) == 3
    assert await paid(ann, 1) == 0
    assert await paid(ben, 1, "another endpoint") == 1


async def test_calls_that_go_well_anywhere_earn_retries(client: "redis.asyncio.Redis") -> None:
    ann, ben = RedisRetryBudgets(client, 2), RedisRetryBudgets(client, 2)
    assert await paid(ann, 10) == 10
    for _ in range(20):
        ann.deposit(ENDPOINT)
    assert await paid(ben, 1) == 0  # nobody has told of them yet
    assert await paid(ann, 4) == 3
    for _ in range(TOLD_EVERY):
        ben.deposit(ENDPOINT)
    while await client.get(f"permits:retries:{ENDPOINT}") == b"0":
        pass  # told by itself, in the background
    assert await paid(ann, 10) == int(0.15 * TOLD_EVERY)


async def test_an_emptied_redis_begins_with_one_reserve(client: "redis.asyncio.Redis") -> None:
    ann, ben = RedisRetryBudgets(client, 2), RedisRetryBudgets(client, 2)
    assert await paid(ann, 10) == 10
    await client.flushall()
    assert await paid(ann, 6) + await paid(ben, 6) == 10


async def test_without_redis_each_worker_has_its_part() -> None:
    away = redis.asyncio.Redis.from_url("redis://127.0.0.1:1")
    budgets = RedisRetryBudgets(away, 2)
    assert await paid(budgets, 9) == 5
    for _ in range(20):
        budgets.deposit(ENDPOINT)
    assert await paid(budgets, 9) == 3
    await away.aclose()
