"""Slots for work that is no call: of the same budget, lent when they are left over."""

import asyncio
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from tests.harness.patience import PATIENCE_SECONDS
from tests.simulator.calls import until
from workers.engine.clock import SystemClock
from workers.engine.targets import slots as slots_module
from workers.engine.targets.slots import Slots
from workers.engine.throttling.permits import Allowance, LocalPermits, Quota
from workers.engine.throttling.throttle import Throttle

# A rate and an allowance of calls, neither of which holds for what calls nobody.
QUOTA = Quota("run", 4, requests_per_minute=1, allowance=Allowance(calls=0))


def opened() -> tuple[Throttle, Slots]:
    clock = SystemClock()
    throttle = Throttle(LocalPermits(clock.monotonic), clock)
    return throttle, Slots(throttle, lambda: (QUOTA,))


async def lent(waiting: dict[asyncio.Task[Any], Any], **options: Any) -> None:
    """Waits for the two that are left over, where the program waits for a moment."""
    await until(lambda: sum(task.done() for task in waiting) >= 2)


async def test_what_is_left_over_is_lent_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    patient = SimpleNamespace(create_task=asyncio.create_task, wait=lent)
    monkeypatch.setattr(slots_module, "asyncio", patient)
    throttle, slots = opened()
    async with AsyncExitStack() as held:
        assert await held.enter_async_context(slots.hold()) == 1
        assert await held.enter_async_context(slots.hold(most=16)) == 3
        assert throttle.held_here("run") == 4
        late = asyncio.create_task(first_of(slots))
        await asyncio.sleep(0.05)
        assert not late.done()
    assert await asyncio.wait_for(late, PATIENCE_SECONDS) == 1
    assert throttle.held_here("run") == 0
    await throttle.close()


async def first_of(slots: Slots) -> int:
    async with slots.hold() as got:
        return got


async def test_work_of_the_same_name_is_done_alone() -> None:
    throttle, slots = opened()
    at_work: list[str] = []

    async def do(name: str) -> int:
        async with slots.hold(alone=name):
            at_work.append(name)
            most = at_work.count(name)
            await asyncio.sleep(0.02)
            at_work.remove(name)
            return most

    found = await asyncio.gather(*(do(name) for name in "aabbab"))
    assert set(found) == {1}
    await throttle.close()


async def test_without_a_throttle_everything_may_begin() -> None:
    async with Slots().hold(most=5) as got:
        assert got == 5
