"""Lanes of threads and of calls: so many at once, and deadlines that are nobody else's."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace

import pytest

from tests.engine.running import known
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table
from workers.engine import ending_tasks
from workers.engine.ending_tasks import end_tasks
from workers.engine.errors import TimedOut
from workers.engine.lanes import LANES, AsyncLane, ThreadLane, async_lane


def test_every_lane_is_there_and_says_what_it_is():
    assert list(LANES) == ["async", "thread", "process", "batch"]
    assert all(lane.__doc__ for lane in LANES.values())


class Gate:
    """Work that waits to be let through, and knows how many wait."""

    def __init__(self):
        self.opened = threading.Event()
        self.lock = threading.Lock()
        self.running = self.peak = 0

    def pass_through(self):
        with self.lock:
            self.running += 1
            self.peak = max(self.peak, self.running)
        assert self.opened.wait(PATIENCE_SECONDS)
        with self.lock:
            self.running -= 1
        return self.peak


async def test_no_more_run_at_once_than_there_are_places():
    lane, gate = ThreadLane(3), Gate()
    started = [await lane.start(gate.pass_through) for _ in range(3)]
    fourth = asyncio.create_task(lane.start(gate.pass_through))
    await asyncio.sleep(0)
    assert not fourth.done()
    gate.opened.set()
    outcomes = [await one for one in [*started, await fourth]]
    assert [outcome.error for outcome in outcomes] == [None] * 4
    assert gate.peak <= 3
    # A thread that nobody waits for keeps its place until it ends.
    lane, gate = ThreadLane(1), Gate()
    (await lane.start(gate.pass_through)).cancel()
    second = asyncio.create_task(lane.start(lambda: "second"))
    done, _ = await asyncio.wait({second}, timeout=0.05)
    assert not done
    gate.opened.set()
    assert (await (await second)).value == "second"


@table(ValueError("no"), SystemExit(2), StopIteration())
async def test_what_it_raises_is_told(error):
    def fail():
        raise error

    assert (await (await ThreadLane().start(fail))).error is error


SECONDS = 0.05


async def answer(after=0.0):
    await asyncio.sleep(after)  # 0, or until it is cancelled
    return "4"


async def keep_cancellations(after):
    """As a library may do that tidies up."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(after)  # until it is cancelled
    return "tidied"


async def test_a_call_has_its_time_and_no_more_and_leaves_no_cancellation_behind():
    lane = AsyncLane(SECONDS)
    assert await lane.call(answer()) == "4"
    with pytest.raises(TimedOut, match=r"No full answer within 0\.05 s"):
        await lane.call(answer(after=60))
    assert await lane.call(answer()) == "4"
    task = known(asyncio.current_task())
    assert await lane.call(keep_cancellations(60)) == "tidied"
    assert task.cancelling() == 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        await asyncio.sleep(0)


class HeldLoop:
    """What the lane asks of a loop: a clock and timers, which a test moves."""

    def __init__(self):
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self):
        return self.now

    def call_at(self, when, ring):
        self.timers.append((when, ring))
        return ring

    def call_later(self, seconds, ring):
        return self.call_at(self.now + seconds, ring)

    async def move_to(self, time):
        while due := [timer for timer in self.timers if timer[0] <= time]:
            self.timers.remove(next_one := min(due, key=lambda timer: timer[0]))
            self.now = next_one[0]
            next_one[1]()
        self.now = time
        await settle()


async def settle():
    """Let all go on who can, in turns of the loop."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_each_of_many_calls_has_its_own_deadline(monkeypatch):
    lane, loop = AsyncLane(2.0), HeldLoop()
    held = SimpleNamespace(
        get_running_loop=lambda: loop,
        current_task=asyncio.current_task,
        CancelledError=asyncio.CancelledError,
    )
    monkeypatch.setattr(async_lane, "asyncio", held)
    ended: list[str] = []

    async def make(name, done):
        try:
            await lane.call(done.wait())
            ended.append(name)
        except TimedOut:
            ended.append(f"{name}: late")

    calls: list[asyncio.Task[None]] = []

    async def begin(name):
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


async def test_a_cancellation_from_outside_is_no_time_out():
    lane = AsyncLane(60)
    task = asyncio.create_task(lane.call(answer(after=60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # A cancellation from outside counts also when the time is over.
    lane = AsyncLane(SECONDS)

    async def tidy_up():
        try:
            return await answer(after=60)
        finally:
            task.cancel()

    task = asyncio.create_task(lane.call(tidy_up()))
    with pytest.raises(asyncio.CancelledError):
        await task


async def lose(cancellations):
    for _ in range(cancellations):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)  # until it is cancelled
    await asyncio.sleep(60)  # until it is cancelled


async def test_a_lost_cancellation_is_sent_again_and_what_has_ended_left_alone(monkeypatch, caplog):
    monkeypatch.setattr(ending_tasks, "AGAIN_SECONDS", 0.01)
    tasks = [asyncio.create_task(lose(times)) for times in range(3)]
    await asyncio.sleep(0)
    await end_tasks(tasks)
    assert all(task.cancelled() for task in tasks)
    # Nobody waits for ever.
    task = asyncio.create_task(lose(ending_tasks.TIMES + 1))
    await asyncio.sleep(0)
    await end_tasks([task])
    assert "do not end" in caplog.text
    task.cancel()
    task.cancel()
    await asyncio.wait([task], timeout=0.1)
    # Tasks that have ended are left alone.
    ended = asyncio.create_task(asyncio.sleep(0, "its result"))
    await ended
    await end_tasks([ended])
    await end_tasks([])
    assert ended.result() == "its result"
