"""Tasks end, also those that lose a cancellation, and nobody waits for ever for one."""

import asyncio
from contextlib import suppress

from workers.engine import ending_tasks
from workers.engine.ending_tasks import end_tasks


async def lose(cancellations: int) -> None:
    for _ in range(cancellations):
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
    await asyncio.sleep(60)


async def test_a_lost_cancellation_is_sent_again(monkeypatch):
    monkeypatch.setattr(ending_tasks, "AGAIN_SECONDS", 0.01)
    tasks = [asyncio.create_task(lose(times)) for times in range(3)]
    await asyncio.sleep(0)
    await end_tasks(tasks)
    assert all(task.cancelled() for task in tasks)


async def test_nobody_waits_for_ever(monkeypatch, caplog):
    monkeypatch.setattr(ending_tasks, "AGAIN_SECONDS", 0.01)
    task = asyncio.create_task(lose(ending_tasks.TIMES + 1))
    await asyncio.sleep(0)
    await end_tasks([task])
    assert "do not end" in caplog.text
    task.cancel()
    task.cancel()
    await asyncio.wait([task], timeout=0.1)


async def test_tasks_that_have_ended_are_left_alone():
    task = asyncio.create_task(asyncio.sleep(0, "its result"))
    await task
    await end_tasks([task])
    await end_tasks([])
    assert task.result() == "its result"
