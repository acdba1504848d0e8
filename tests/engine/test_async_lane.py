"""Deadlines of calls: one timer for all, and nobody else's cancellation taken for ours."""

import asyncio
import contextlib

import pytest

from tests.patience import PATIENCE_SECONDS
from workers.engine.errors import TimedOut
from workers.engine.lanes import AsyncLane

SECONDS = 0.05


async def answer(after: float = 0.0) -> str:
    await asyncio.sleep(after)
    return "4"


async def keep_cancellations(after: float) -> str:
    """As a library may do that tidies up."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(after)
    return "tidied"


async def test_a_call_has_its_time_and_no_more() -> None:
    lane = AsyncLane(SECONDS)
    assert await lane.call(answer()) == "4"
    with pytest.raises(TimedOut, match=r"No full answer within 0\.05 s"):
        await lane.call(answer(after=60))
    assert await lane.call(answer()) == "4"


async def test_each_of_many_calls_has_its_own_deadline() -> None:
    lane = AsyncLane(2.0)
    ended: list[str] = []

    async def make(name: str, start: float, takes: float) -> None:
        await asyncio.sleep(start)
        with contextlib.suppress(TimedOut):
            await lane.call(answer(takes))
            ended.append(name)

    # The second begins just before the deadline of the one that hangs, and ends just after it.
    calls = [("first", 0.0, 0.0), ("hangs", 0.0, 60.0), ("second", 1.9, 0.2), ("last", 3.0, 0.0)]
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.gather(*(make(*call) for call in calls), make("hangs too", 0.1, 60.0))
    assert ended == ["first", "second", "last"]


async def test_a_cancellation_from_outside_is_no_time_out() -> None:
    lane = AsyncLane(60)
    task = asyncio.create_task(lane.call(answer(after=60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancellation_from_outside_counts_also_when_the_time_is_over() -> None:
    lane = AsyncLane(SECONDS)

    async def tidy_up() -> str:
        try:
            return await answer(after=60)
        finally:
            task.cancel()

    task = asyncio.create_task(lane.call(tidy_up()))
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_deadline_leaves_no_cancellation_behind() -> None:
    lane = AsyncLane(SECONDS)
    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(TimedOut):
        await lane.call(answer(after=60))
    assert await lane.call(keep_cancellations(60)) == "tidied"
    assert task.cancelling() == 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.sleep(0)
