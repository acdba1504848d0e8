"""Permits over a real Redis: one limit for all holders, by the server's clock."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
import redis.asyncio

from workers import redis_permits
from workers.engine.permits import LocalPermits, Quota
from workers.redis_permits import RedisPermits

RUN = Quota("run:1", 10)
MODEL = Quota("endpoint:1/small", 6)


@pytest.fixture
async def client(settings: Any) -> AsyncIterator["redis.asyncio.Redis"]:
    client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
    yield client
    await client.aclose()


def holder(client: "redis.asyncio.Redis", name: str, workers: int = 2) -> RedisPermits:
    return RedisPermits(client, name, workers, LocalPermits(time.monotonic))


async def test_all_holders_together_stay_within_the_limit(client: "redis.asyncio.Redis") -> None:
    ann, ben = holder(client, "ann"), holder(client, "ben")
    first = await ann.exchange((RUN,), (0,), 7)
    second = await ben.exchange((RUN,), (0,), 7)
    assert (first.permits, second.permits) == (7, 3)
    assert second.in_use == (10,)


async def test_a_permit_needs_room_under_every_quota(client: "redis.asyncio.Redis") -> None:
    grant = await holder(client, "ann").exchange((RUN, MODEL), (0, 0), 20)
    assert grant.permits == 6
    assert grant.in_use == (6, 6)


async def test_what_is_given_back_is_free_for_others(client: "redis.asyncio.Redis") -> None:
    ann, ben = holder(client, "ann"), holder(client, "ben")
    await ann.exchange((RUN,), (0,), 10)
    assert (await ben.exchange((RUN,), (0,), 4)).permits == 0
    await ann.exchange((RUN,), (6,), 0)
    assert (await ben.exchange((RUN,), (0,), 4)).permits == 4


async def test_who_has_more_than_its_share_is_asked_to_give_back(
    client: "redis.asyncio.Redis",
) -> None:
    ann, ben = holder(client, "ann"), holder(client, "ben")
    await ann.exchange((RUN,), (0,), 10)
    await ben.exchange((RUN,), (0,), 8)
    grant = await ann.exchange((RUN,), (10,), 5)
    assert (grant.permits, grant.surplus) == (0, 5)
    assert (await ann.exchange((RUN,), (5,), 5)).permits == 0  # its share, while ben waits
    assert (await ben.exchange((RUN,), (0,), 8)).permits == 5


async def test_a_dead_holders_permits_come_back(
    client: "redis.asyncio.Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_permits, "LEASE_MILLISECONDS", 80)
    await holder(client, "dead").exchange((RUN,), (0,), 10)
    ben = holder(client, "ben")
    assert (await ben.exchange((RUN,), (0,), 10)).permits == 0
    await asyncio.sleep(0.1)
    assert (await ben.exchange((RUN,), (0,), 10)).permits == 10


async def test_holdings_said_again_heal_an_emptied_redis(client: "redis.asyncio.Redis") -> None:
    ann, ben = holder(client, "ann"), holder(client, "ben")
    await ann.exchange((RUN,), (0,), 8)
    await client.flushall()
    await ann.exchange((RUN,), (8,), 0)
    assert (await ben.exchange((RUN,), (0,), 10)).permits == 2


async def test_a_rate_is_shared_by_all_holders(client: "redis.asyncio.Redis") -> None:
    quota = Quota("endpoint:1/paced", 1000, 6000)  # bursts of 60, then one every 10.1 ms
    ann, ben = holder(client, "ann"), holder(client, "ben")
    started = time.monotonic()
    permits = 0
    while time.monotonic() - started < 0.5:
        for one in (ann, ben):
            grant = await one.exchange((quota,), (0,), 100)
            permits += grant.permits
        await asyncio.sleep(0.01)
    elapsed = time.monotonic() - started
    assert permits <= 60 + elapsed / 0.0101 + 1
    assert permits >= 60 + 0.8 * 0.5 / 0.0101


async def test_without_redis_each_worker_keeps_to_its_part() -> None:
    nowhere = redis.asyncio.Redis.from_url("redis://127.0.0.1:1/0")
    alone = holder(nowhere, "ann", workers=3)
    assert (await alone.exchange((RUN,), (0,), 10)).permits == 3
    assert (await alone.exchange((RUN,), (3,), 10)).permits == 0
    await nowhere.aclose()
