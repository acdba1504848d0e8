"""Deadlines of calls: one timer for all, and nobody else's cancellation taken for ours."""

import asyncio
import contextlib
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.errors import TimedOut
from workers.engine.lanes import AsyncLane, async_lane

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


class HeldLoop:
    """What the lane asks of a loop: a clock and timers, which a test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, ring: Callable[[], None]) -> object:
        self.timers.append((when, ring))
        return ring

    def call_later(self, seconds: float, ring: Callable[[], None]) -> object:
        return self.call_at(self.now + seconds, ring)

    async def move_to(self, time: float) -> None:
        while due := [timer for timer in self.timers if timer[0] <= time]:
            self.timers.remove(next_one := min(due, key=lambda timer: timer[0]))
            self.now = next_one[0]
            next_one[1]()
        self.now = time
        await settle()


async def settle() -> None:
    """Let all go on who can, in turns of the loop."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_each_of_many_calls_has_its_own_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, loop = AsyncLane(2.0), HeldLoop()
    held = SimpleNamespace(
        get_running_loop=lambda: loop,
        current_task=asyncio.current_task,
        CancelledError=asyncio.CancelledError,
    )
    monkeypatch.setattr(async_lane, "asyncio", held)
    ended: list[str] = []

    async def make(name: str, done: asyncio.Event) -> None:
        try:
            await lane.call(done.wait())
            ended.append(name)
        except TimedOut:
            ended.append(f"{name}: late")

    calls: list[asyncio.Task[None]] = []

    async def begin(name: str) -> asyncio.Event:
        done = asyncio.Event()
        calls.append(asyncio.create_task(make(name, done)))
        await settle()
        return done

    (await begin("first")).set()
    await begin("hangs")
    await loop.move_to(0.1)
    await begin("hangs too")
    # The second begins just before the deadline of the one that hangs, and ends just after it.
    await loop.move_to(1.9)
    second = await begin("second")
    await loop.move_to(2.0)
    assert ended == ["first", "hangs: late"]
    second.set()
    await loop.move_to(2.1)
    await begin("last")
    await loop.move_to(4.0)
    assert ended == ["first", "hangs: late", "second", "hangs too: late"]
    await loop.move_to(4.1)
    assert ended[4:] == ["last: late"]
    await asyncio.gather(*calls)


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
