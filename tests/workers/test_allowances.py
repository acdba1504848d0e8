"""What all workers together may use: allowances of runs, and retries."""

import asyncio
import time

import pytest
import redis.asyncio

from tests.harness.table import table
from tests.simulator.calls import until
from workers.engine.clock import SystemClock
from workers.engine.throttling.permits import Allowance, Demand, LocalPermits, Quota, Report
from workers.engine.throttling.throttle import Throttle
from workers.redis_permits import RedisPermits, part_of
from workers.redis_retry_budgets import TOLD_EVERY, RedisRetryBudgets


@pytest.fixture(params=["local", "redis"])
def permits(request, client):
    local = LocalPermits(time.monotonic)
    return local if request.param == "local" else RedisPermits(client, "ann", 2, local)


def quota(**allowed):
    return (Quota("run:1", 10, allowance=Allowance(**allowed)),)


async def ask(permits, quotas, want, **demand):
    holding = demand.pop("holding", 0)
    return await permits.exchange(quotas, Demand((holding,), want, **demand))


async def test_calls_are_granted_up_to_the_allowance_and_never_handed_on(permits):
    allowed = quota(calls=12)
    first = await ask(permits, allowed, 8)
    second = await ask(permits, allowed, 8, holding=0)
    third = await ask(permits, allowed, 8, holding=0)
    assert (first.permits, second.permits, third.permits) == (8, 4, 0)
    assert all(grant.is_paced for grant in (first, second, third))
    assert (first.spent, second.spent, third.spent) == ("", "", "calls")


async def test_nothing_is_spent_while_calls_fly_and_what_was_not_used_is_granted_again(permits):
    allowed = quota(calls=4)
    assert (await ask(permits, allowed, 4)).permits == 4
    assert (await ask(permits, allowed, 2, holding=1)).spent == ""
    assert (await ask(permits, allowed, 2, holding=0)).spent == "calls"
    assert (await ask(permits, allowed, 9, report=Report(unused=3))).permits == 3


async def test_what_is_stored_counts_where_it_is_more(permits):
    await ask(permits, quota(calls=20), 3)
    assert (await ask(permits, quota(calls=20, calls_used=18), 9)).permits == 2
    assert (await ask(permits, quota(calls=20, calls_used=2), 9)).permits == 0


async def test_a_raised_allowance_has_room_again(permits):
    await ask(permits, quota(calls=5), 9)
    assert (await ask(permits, quota(calls=5), 9)).spent == "calls"
    grant = await ask(permits, quota(calls=7), 9)
    assert (grant.permits, grant.spent) == (2, "")


async def test_dollars_are_reserved_and_settled(permits):
    allowed = quota(nanos=1000)
    assert (await ask(permits, allowed, 9, nanos_each=300)).permits == 3
    assert (await ask(permits, allowed, 9, nanos_each=300, holding=3)).permits == 0
    cheaper = Report(nanos=3 * (100 - 300))  # they cost 100 each: 300 of 1000 are used
    grant = await ask(permits, allowed, 9, nanos_each=150, report=cheaper)
    assert grant.permits == 4
    assert (await ask(permits, allowed, 9, nanos_each=150)).spent == "dollars"


async def test_what_was_heard_counts_when_redis_has_forgotten(client):
    permits = RedisPermits(client, "ann", 2, LocalPermits(time.monotonic))
    grant = await ask(permits, quota(calls=12), 8)
    assert grant.used == (8, 0)
    await client.flushall()
    await client.set("permits:memory", 0)  # as if all had said again what they hold
    again = await ask(permits, quota(calls=12), 8, heard=grant.used)
    assert again.permits == 4


async def test_all_holders_share_one_allowance(client):
    local = LocalPermits(time.monotonic)
    holders = [RedisPermits(client, name, 2, local) for name in ("ann", "ben")]
    grants = [await ask(holder, quota(calls=7), 5) for holder in holders]
    assert [grant.permits for grant in grants] == [5, 2]


@table(
    (Allowance(calls=100, calls_used=40), Allowance(calls=70, calls_used=40)),
    (Allowance(calls=100, calls_used=120), Allowance(calls=120, calls_used=120)),
    (Allowance(nanos=9, nanos_used=0), Allowance(nanos=4, nanos_used=0)),
)
def test_without_redis_each_of_two_workers_has_its_part_of_the_rest(allowed, part):
    assert part_of(allowed, 2) == part


async def test_the_throttle_stops_at_the_allowance_and_says_so():
    clock = SystemClock()
    throttle = Throttle(LocalPermits(clock.monotonic), clock)
    allowed, flown = quota(calls=6), []

    async def fly(number):
        async with throttle.slot(allowed):
            flown.append(number)
            await asyncio.sleep(0)  # in flight, for a turn of the loop

    tasks = [asyncio.create_task(fly(number)) for number in range(20)]
    await until(lambda: bool(throttle.spent("run:1")))
    assert flown == list(range(6))
    assert throttle.spent("run:1") == "calls"
    throttle.change(quota(calls=20)[0])
    assert throttle.spent("run:1") == ""
    await asyncio.gather(*tasks)
    assert len(flown) == 20
    await throttle.close()


async def test_calls_that_were_cancelled_while_they_waited_use_nothing():
    clock = SystemClock()
    throttle = Throttle(LocalPermits(clock.monotonic), clock)
    allowed, flown, may_land = quota(calls=30), [], asyncio.Event()

    async def fly():
        async with throttle.slot(allowed):
            flown.append(1)
            await may_land.wait()

    tasks = [asyncio.create_task(fly()) for _ in range(20)]
    await until(lambda: len(flown) == 10)  # ten fly, ten wait
    for task in tasks[10:]:
        task.cancel()
    may_land.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(flown) == 10
    await asyncio.gather(*(fly() for _ in range(20)))
    assert len(flown) == 30
    await throttle.close()


ENDPOINT = "provider"


async def paid(budgets, times, endpoint=ENDPOINT):
    return sum([await budgets.withdraw(endpoint) for _ in range(times)])


async def test_two_workers_share_one_reserve_also_of_an_emptied_redis(client):
    ann, ben = RedisRetryBudgets(client, 2), RedisRetryBudgets(client, 2)
    assert await paid(ann, 7) == 7
    assert await paid(ben, 7) == 3
    assert await paid(ann, 1) == 0
    assert await paid(ben, 1, "another endpoint") == 1
    await client.flushall()  # it begins with one reserve again
    assert await paid(ann, 6) + await paid(ben, 6) == 10


async def test_calls_that_go_well_anywhere_earn_retries(client):
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


async def test_without_redis_each_worker_has_its_part():
    away = redis.asyncio.Redis.from_url("redis://127.0.0.1:1")
    budgets = RedisRetryBudgets(away, 2)
    assert await paid(budgets, 9) == 5
    for _ in range(20):
        budgets.deposit(ENDPOINT)
    assert await paid(budgets, 9) == 3
    await away.aclose()
