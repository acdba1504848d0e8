"""The async lane: a call on the event loop, under a total deadline."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from workers.engine.errors import TimedOut

T = TypeVar("T")
Task = asyncio.Task[Any]


class AsyncLane:
    """The deadline is around everything, because no library's timeouts stop a dripping server.

    All calls have the same time, so that one timer, for the oldest, will do for all of them.
    """

    def __init__(self, timeout_seconds: float) -> None:
        self._seconds = timeout_seconds
        self._deadlines: dict[Task, float] = {}  # the oldest first
        self._late: dict[Task, int] = {}  # with the cancellations they had before ours
        self._timer: asyncio.TimerHandle | None = None

    async def call(self, work: Awaitable[T]) -> T:
        """What the work gives, or TimedOut. A task makes one call at a time."""
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None  # we are in a coroutine
        self._deadlines[task] = loop.time() + self._seconds
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._cancel_late)
        try:
            return await work
        except asyncio.CancelledError:
            if self._was_cancelled_here(task):
                raise TimedOut(f"No full answer within {self._seconds:g} s.") from None
            raise
        finally:
            del self._deadlines[task]
            self._was_cancelled_here(task)  # or the library kept the cancellation to itself

    def _cancel_late(self) -> None:
        """Cancel the calls whose time is over, and ring again for the next."""
        self._timer, loop = None, asyncio.get_running_loop()
        for task, deadline in self._deadlines.items():
            if deadline > loop.time():
                self._timer = loop.call_at(deadline, self._cancel_late)
                return
            if task not in self._late:
                self._late[task] = task.cancelling()
                task.cancel()

    def _was_cancelled_here(self, task: Task) -> bool:
        """Whether our cancellation, and nobody else's, ended its call. It is taken back."""
        before = self._late.pop(task, None)
        return before is not None and task.uncancel() <= before
