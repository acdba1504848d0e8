"""The throttle: nobody flies without a permit, nobody waits while one is free."""

import asyncio
from random import Random
from zlib import crc32

import pytest

from tests.engine.running import FakeClock
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from tests.simulator.calls import until
from workers.engine.calling.asking import Asking, AskParts
from workers.engine.calling.cache import MemoryCache, SingleFlight, cache_key
from workers.engine.calling.calls import Caller, CallParts, CallRules
from workers.engine.clock import SystemClock
from workers.engine.errors import Refused
from workers.engine.providers import PROVIDERS, Provider
from workers.engine.records import Request
from workers.engine.throttling.permits import (
    Demand,
    Grant,
    LimitChange,
    LocalPermits,
    Quota,
    interval_of,
)
from workers.engine.throttling.throttle import Throttle

RUN = Quota("run:1", 4)
SMALL = Quota("endpoint:1/small", 3)
LARGE = Quota("endpoint:1/large", 3)


@pytest.fixture
async def opened():
    """Makes a throttle, which is closed after the test: with these permits, or its own."""
    made = []

    def make(clock, permits=None, **more):
        made.append(Throttle(permits or LocalPermits(clock.monotonic), clock, **more))
        return made[-1]

    yield make
    for one in made:
        await one.close()


@pytest.fixture
def throttle(opened):
    return opened(SystemClock())


class Flights:
    """Counts what is in flight under each set of quotas."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle
        self.now = 0
        self.peak = 0
        self.done = 0

    async def fly(self, quotas: tuple[Quota, ...], seconds: float = 0.002) -> None:
        async with self._throttle.slot(quotas):
            self.now += 1
            self.peak = max(self.peak, self.now)
            await asyncio.sleep(seconds)  # others could begin meanwhile
            self.now -= 1
        self.done += 1


async def test_a_limit_is_reached_and_not_exceeded_and_two_hold_together(throttle):
    flights = Flights(throttle)
    await asyncio.gather(*(flights.fly((RUN,)) for _ in range(60)))
    assert (flights.peak, flights.done) == (4, 60)
    # Two quotas hold together.
    small, large = Flights(throttle), Flights(throttle)
    both = ((small, SMALL), (large, LARGE))
    await asyncio.gather(*(one.fly((RUN, quota)) for one, quota in both for _ in range(30)))
    assert max(small.peak, large.peak) <= 3
    assert small.done + large.done == 60


async def test_a_cancelled_waiter_leaves_no_hole(throttle):
    flights = Flights(throttle)
    flying = [asyncio.create_task(flights.fly((RUN,), 0.02)) for _ in range(4)]
    waiting = [asyncio.create_task(flights.fly((RUN,))) for _ in range(20)]
    await until(lambda: flights.now == 4)
    for task in [*flying[:2], *waiting[:15]]:
        task.cancel()
    await asyncio.gather(*flying, *waiting, return_exceptions=True)
    again = Flights(throttle)
    await asyncio.gather(*(again.fly((RUN,)) for _ in range(20)))
    assert again.peak == 4


async def test_a_pause_stops_new_calls_under_its_key_only(opened):
    clock = FakeClock()
    throttle = opened(clock)
    async with throttle.slot((RUN, SMALL)) as permit:
        permit.is_throttled, permit.pause_seconds = True, 1.0
    flights = Flights(throttle)
    small = asyncio.create_task(flights.fly((RUN, SMALL)))
    for _ in range(2):
        await flights.fly((RUN, LARGE))
        assert not small.done()
        clock.now += 0.5
    await small


class Scripted:
    """Permits of the test's own: remembers what was said, answers from a list."""

    def __init__(self, *grants: Grant) -> None:
        self.grants = list(grants)
        self.heard: list[Demand] = []

    async def exchange(self, quotas: tuple[Quota, ...], demand: Demand) -> Grant:
        self.heard.append(demand)
        if self.grants:
            return self.grants.pop(0)
        return Grant(0, demand.holding, 0.005)


async def test_a_finished_call_hands_its_permit_on_without_asking(opened):
    permits = Scripted(Grant(1, (1,), 60.0))
    throttle = opened(FakeClock(), permits)  # it stands still: no permit is renewed meanwhile
    flights = Flights(throttle)
    await asyncio.gather(*(flights.fly((RUN,), 0) for _ in range(50)))
    assert flights.done == 50
    assert len(permits.heard) <= 2


@table({"refusal": Refused("400")}, {"is_troubled": True})
async def test_a_failed_call_hands_its_permit_on_only_after_it_was_counted(opened, failure):
    permits = Scripted(Grant(1, (1,), 60.0), Grant(0, (0,), 60.0))
    throttle = opened(SystemClock(), permits)
    async with throttle.slot((RUN,)) as permit:
        for name, value in failure.items():
            setattr(permit, name, value)
        waiting = asyncio.create_task(Flights(throttle).fly((RUN,)))
        await asyncio.sleep(0)
    await until(lambda: len(permits.heard) > 1)
    assert permits.heard[1].holding == (0,)
    assert permits.heard[1].report.refused + permits.heard[1].report.troubled == 1
    assert not waiting.done()
    waiting.cancel()


async def test_a_call_that_comes_alone_is_asked_for_at_once(opened):
    flights = Flights(opened(SystemClock(), spacing_seconds=60.0))
    async with asyncio.timeout(PATIENCE_SECONDS):
        for _ in range(20):
            await flights.fly((RUN,), 0)
    assert flights.done == 20


async def test_a_surplus_goes_back_when_calls_end(opened):
    permits = Scripted(Grant(2, (2,), 60.0, surplus=2))
    flights = Flights(opened(FakeClock(), permits))  # no permit is renewed while it stands still
    tasks = [asyncio.create_task(flights.fly((RUN,), 0.001)) for _ in range(5)]
    # Were the permits handed on, none would come back before all five have flown.
    await until(lambda: len(permits.heard) > 1 and permits.heard[-1].holding == (0,))
    assert flights.done == 2
    for task in tasks:
        task.cancel()


async def spent_by(quota, demand, seconds=150):
    """When each permit was given, if all of them are wanted at once."""
    clock = FakeClock()
    permits, spent = LocalPermits(clock.monotonic), list[float]()
    while clock.now < 1000 + seconds:
        grant = await permits.exchange((quota,), demand)
        spent += [clock.now] * grant.permits
        clock.now += grant.retry_seconds if grant.permits == 0 else 0.0
    return spent


def most_in_a_minute(spent):
    firsts = spent[:: max(1, len(spent) // 50)]
    return max(sum(first <= start < first + 60 for start in spent) for first in firsts)


@table(1, 7, 60, 600, 3500)
async def test_no_minute_holds_more_starts_than_its_limit(requests_per_minute):
    starts = await spent_by(Quota("k", 10_000, requests_per_minute), Demand((0,), 100_000))
    assert most_in_a_minute(starts) <= requests_per_minute
    assert interval_of(requests_per_minute) * len(starts) >= 0.95 * 150  # no time is wasted


async def test_no_minute_holds_more_tokens_than_its_limit():
    quota = Quota("k", 10_000, tokens_per_minute=60_000)
    starts = await spent_by(quota, Demand((0,), 100, tokens_each=700))
    assert most_in_a_minute(starts) * 700 <= 60_000 + 700
    assert len(starts) * 700 >= 0.95 * 150 * 1000


async def test_tokens_not_used_are_given_back(opened):
    permits = Scripted(Grant(1, (1,), 60.0))
    throttle = opened(SystemClock(), permits)
    async with throttle.slot((RUN,), guess=lambda: (500, 0)) as permit:
        permit.is_good, permit.used = True, 120
    await until(lambda: len(permits.heard) > 1)  # the keeper's next exchange carries the report
    report = permits.heard[1].report
    assert (report.good, report.tokens) == (1, 120 - 500)


async def test_a_changed_limit_is_told_with_the_runs_it_concerns(opened):
    change = LimitChange("endpoint:1/small", 20, 16, "cut: the provider said 429")
    told: list[tuple[LimitChange, set[str]]] = []
    permits = Scripted(Grant(1, (1, 1), 60.0, changes=(change,)))
    throttle = opened(SystemClock(), permits, on_change=lambda *news: told.append(news))
    async with throttle.slot((RUN, SMALL._replace(group="7"))):
        pass
    assert told == [(change, {"7"})]


async def test_a_changed_limit_holds_for_those_who_wait(opened):
    throttle = opened(FakeClock())  # stands still: nobody asks again only because time has passed
    flights = Flights(throttle)
    tasks = [asyncio.create_task(flights.fly((Quota("run:1", 1),), 3600)) for _ in range(9)]
    await until(lambda: flights.now > 0)
    assert flights.now == 1
    throttle.change(Quota("run:1", 8))
    await until(lambda: flights.now > 1)
    assert flights.now == 8
    for task in tasks:
        task.cancel()


ONE_AT_ONCE = Quota("run", 1)


def question(number):
    messages = [{"role": "user", "content": f"What is {number} + 1?"}]
    body = {"model": "sim-small", "messages": messages}
    return Request("provider", "sim-small", "/chat/completions", body)


async def test_an_answer_belongs_to_the_key_that_it_was_asked_with(client, simulator, throttle):
    def provider(key: str) -> Provider:
        return PROVIDERS["openai"](client, f"service of {key}", f"{simulator.url}/v1", key)

    parts = CallParts(throttle, SystemClock(), Random(1))
    providers, cache = {"provider": provider("old")}, MemoryCache()
    rules = CallRules(lambda request: (ONE_AT_ONCE,), 1, PATIENCE_SECONDS)
    caller = Caller(providers, parts, rules)
    services = {"provider": "service of old"}
    asking = AskParts(caller, providers, cache, SingleFlight(), services=services)
    requests = [question(0), question(1)]
    async with throttle.slot((ONE_AT_ONCE,)):  # both wait for it
        waiting = [asyncio.create_task(Asking(asking).ask(one)) for one in requests]
        await asyncio.sleep(0)
        providers["provider"] = provider("new")
    await asyncio.gather(*waiting)
    assert {row["key"] for row in simulator.requests()} == {f"{crc32(b'Bearer new'):08x}"}
    for service, count in (("service of old", 0), ("service of new", 2)):
        keys = [cache_key(service, one) for one in requests]
        assert len(await cache.get_many(keys)) == count
