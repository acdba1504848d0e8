"""The throttle: nobody flies without a permit, nobody waits while one is free."""

import asyncio

import pytest

from tests.engine.fake_clock import FakeClock
from workers.engine.clock import SystemClock
from workers.engine.permits import Grant, LocalPermits, Quota, burst_of, interval_of
from workers.engine.throttle import Throttle

RUN = Quota("run:1", 4)
SMALL = Quota("endpoint:1/small", 3)
LARGE = Quota("endpoint:1/large", 3)


def local_throttle() -> Throttle:
    clock = SystemClock()
    return Throttle(LocalPermits(clock.monotonic), clock)


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
            await asyncio.sleep(seconds)
            self.now -= 1
        self.done += 1


async def test_a_limit_is_reached_and_not_exceeded() -> None:
    throttle = local_throttle()
    flights = Flights(throttle)
    await asyncio.gather(*(flights.fly((RUN,)) for _ in range(60)))
    assert (flights.peak, flights.done) == (4, 60)
    await throttle.close()


async def test_two_quotas_hold_together() -> None:
    throttle = local_throttle()
    small, large = Flights(throttle), Flights(throttle)
    await asyncio.gather(
        *(small.fly((RUN, SMALL)) for _ in range(30)),
        *(large.fly((RUN, LARGE)) for _ in range(30)),
    )
    assert small.peak <= 3
    assert large.peak <= 3
    assert small.done + large.done == 60
    await throttle.close()


async def test_a_cancelled_waiter_leaves_no_hole() -> None:
    throttle = local_throttle()
    flights = Flights(throttle)
    flying = [asyncio.create_task(flights.fly((RUN,), 0.02)) for _ in range(4)]
    waiting = [asyncio.create_task(flights.fly((RUN,))) for _ in range(20)]
    await asyncio.sleep(0.01)
    for task in [*flying[:2], *waiting[:15]]:
        task.cancel()
    await asyncio.gather(*flying, *waiting, return_exceptions=True)
    again = Flights(throttle)
    await asyncio.gather(*(again.fly((RUN,)) for _ in range(20)))
    assert again.peak == 4
    await throttle.close()


async def test_a_pause_stops_new_calls_under_its_key_only() -> None:
    throttle = local_throttle()
    throttle.pause(SMALL.key, 0.2)
    loop = asyncio.get_running_loop()
    started = loop.time()
    flights = Flights(throttle)
    await flights.fly((RUN, LARGE))
    assert loop.time() - started < 0.1
    await flights.fly((RUN, SMALL))
    assert loop.time() - started >= 0.2
    await throttle.close()


class Scripted:
    """Permits of the test's own: remembers what was said, answers from a list."""

    def __init__(self, *grants: Grant) -> None:
        self.grants = list(grants)
        self.heard: list[tuple[tuple[int, ...], int]] = []

    async def exchange(
        self, quotas: tuple[Quota, ...], holding: tuple[int, ...], want: int
    ) -> Grant:
        self.heard.append((holding, want))
        if self.grants:
            return self.grants.pop(0)
        return Grant(0, tuple(holding), 0.005)


async def test_a_finished_call_hands_its_permit_on_without_asking() -> None:
    permits = Scripted(Grant(1, (1,), 60.0))
    throttle = Throttle(permits, SystemClock())
    flights = Flights(throttle)
    await asyncio.gather(*(flights.fly((RUN,), 0) for _ in range(50)))
    assert flights.done == 50
    assert len(permits.heard) <= 2
    await throttle.close()


async def test_a_surplus_goes_back_when_calls_end() -> None:
    permits = Scripted(Grant(2, (2,), 60.0, surplus=2))
    throttle = Throttle(permits, SystemClock())
    flights = Flights(throttle)
    tasks = [asyncio.create_task(flights.fly((RUN,), 0.001)) for _ in range(5)]
    await asyncio.sleep(0.05)  # time enough for all five, were the permits handed on
    assert flights.done == 2
    assert permits.heard[-1][0] == (0,)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await throttle.close()


@pytest.mark.parametrize("requests_per_minute", [1, 7, 60, 600, 3500])
async def test_no_minute_holds_more_starts_than_its_limit(requests_per_minute: int) -> None:
    clock = FakeClock()
    permits = LocalPermits(clock.monotonic)
    quota = Quota("k", 10_000, requests_per_minute)
    starts: list[float] = []
    while clock.now < 1000 + 150:
        grant = await permits.exchange((quota,), (0,), 100_000)
        starts += [clock.now] * grant.permits
        clock.now += grant.retry_seconds if grant.permits == 0 else 0.0
    for first in starts[:: max(1, len(starts) // 50)]:
        assert sum(first <= start < first + 60 for start in starts) <= requests_per_minute
    whole = interval_of(requests_per_minute) * len(starts)
    assert whole >= 0.95 * 150  # and no time is wasted
    assert burst_of(requests_per_minute) >= 1
