"""The thread lane: so many threads at once and no more, and none that is lost keeps a process."""

import asyncio
import threading

import pytest

from tests.harness.patience import PATIENCE_SECONDS
from workers.engine.lanes import ThreadLane


class Gate:
    """Work that waits to be let through, and knows how many wait."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.lock = threading.Lock()
        self.running = self.peak = 0

    def pass_through(self) -> int:
        with self.lock:
            self.running += 1
            self.peak = max(self.peak, self.running)
        assert self.opened.wait(PATIENCE_SECONDS)
        with self.lock:
            self.running -= 1
        return self.peak


async def test_no_more_run_at_once_than_there_are_places() -> None:
    lane, gate = ThreadLane(3), Gate()
    started = [await lane.start(gate.pass_through) for _ in range(3)]
    fourth = asyncio.create_task(lane.start(gate.pass_through))
    await asyncio.sleep(0)
    assert not fourth.done()
    gate.opened.set()
    outcomes = [await one for one in [*started, await fourth]]
    assert [outcome.error for outcome in outcomes] == [None] * 4
    assert gate.peak <= 3


async def test_a_thread_that_nobody_waits_for_keeps_its_place_until_it_ends() -> None:
    lane, gate = ThreadLane(1), Gate()
    (await lane.start(gate.pass_through)).cancel()
    second = asyncio.create_task(lane.start(lambda: "second"))
    done, _ = await asyncio.wait({second}, timeout=0.05)
    assert not done
    gate.opened.set()
    assert (await (await second)).value == "second"


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(2), StopIteration()])
async def test_what_it_raises_is_told(error: BaseException) -> None:
    def fail() -> None:
        raise error

    assert (await (await ThreadLane().start(fail))).error is error
