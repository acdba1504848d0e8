"""A worker that lost a part of itself ends at once: others take over, and it is started again."""

import asyncio
import multiprocessing

from tests.harness.patience import PATIENCE_SECONDS
from workers.runtime import EXIT_BROKEN, die_with, is_caused_by


async def break_a_task() -> None:
    async def recorder() -> None:
        raise MemoryError

    task = asyncio.create_task(recorder())
    task.add_done_callback(die_with)
    await asyncio.sleep(PATIENCE_SECONDS)


def live_until_broken() -> None:
    asyncio.run(break_a_task())


def test_a_task_that_fails_takes_its_process_with_it() -> None:
    worker = multiprocessing.get_context("fork").Process(target=live_until_broken)
    worker.start()
    worker.join(PATIENCE_SECONDS)
    assert worker.exitcode == EXIT_BROKEN


async def test_a_task_that_is_stopped_does_not() -> None:
    task = asyncio.create_task(asyncio.sleep(PATIENCE_SECONDS))
    task.add_done_callback(die_with)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)  # the callback has run, and we are still here
    assert task.cancelled()


def test_trouble_is_found_among_the_failures_of_a_chunk() -> None:
    failures = ExceptionGroup("", [ValueError(), ExceptionGroup("", [MemoryError()])])
    assert is_caused_by(failures, MemoryError)
    assert not is_caused_by(failures, OSError)
    assert is_caused_by(MemoryError(), MemoryError)
