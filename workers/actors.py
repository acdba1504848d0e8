"""Dramatiq's doors to the work, a few lines each. Started by `manage.py work`."""

import dramatiq

from workers.broker import broker
from workers.queue_names import ADVANCE_QUEUE, CHUNK_QUEUE
from workers.runtime import Runtime

_runtime: Runtime | None = None


def runtime() -> Runtime:
    """This process's runtime, made on its event loop by the first message."""
    global _runtime
    if _runtime is None:
        _runtime = Runtime()
    return _runtime


async def close_runtime() -> None:
    """It stays: a message that comes after this is handed on, not worked on by a new one."""
    if _runtime is not None:
        await _runtime.close()


async def open_runtime() -> None:
    runtime()


@dramatiq.actor(queue_name=ADVANCE_QUEUE, broker=broker, priority=0)
async def advance(run_id: int) -> None:
    await runtime().advance(run_id)


@dramatiq.actor(queue_name=CHUNK_QUEUE, broker=broker, priority=10)
async def execute_chunk(chunk_id: int) -> None:
    await runtime().execute(chunk_id)
