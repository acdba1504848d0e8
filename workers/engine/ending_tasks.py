"""Ends tasks for good: one that loses a cancellation, as libraries may, is cancelled again."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0
TIMES = 5


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel and wait, but not for ever."""
    left = set(tasks)
    for _ in range(TIMES):
        if not left:
            return
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN_SECONDS)
    if left:
        logger.error("These tasks do not end: %s", ", ".join(map(repr, left)))


def is_being_cancelled() -> bool:
    """Whether the running task was cancelled, and code in it did not only raise CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
