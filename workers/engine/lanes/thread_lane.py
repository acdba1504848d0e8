"""The thread lane: plain functions that wait, each in a thread of its own, so many and no more."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, Generic, NamedTuple, TypeVar

from workers.engine.overtime import interrupt

T = TypeVar("T")

MOST_THREADS = 200  # of a process; they wait for calls, which limits of their own hold


class Outcome(NamedTuple, Generic[T]):
    value: T | None = None
    error: BaseException | None = None


class ThreadLane:
    """Threads are started for a piece of work and are daemons: a pool's threads are waited for
    when a process ends, and one that never ends would keep it from ending."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._free = asyncio.Semaphore(most)
        self._threads: dict[asyncio.Future[Any], Thread] = {}

    async def start(self, work: Callable[[], T]) -> asyncio.Future[Outcome[T]]:
        """Wait for a free place, then begin. A thread keeps its place until it really ends, also
        when nobody waits for it any more."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Outcome[T]] = loop.create_future()

        def run() -> None:
            outcome: Outcome[T] = attempt(work)
            with suppress(RuntimeError):  # the loop was closed meanwhile: nobody listens
                loop.call_soon_threadsafe(self._end, ended, outcome)

        self._threads[ended] = thread = Thread(target=run, daemon=True, name="thread-lane")
        thread.start()
        return ended

    def interrupt(self, ended: asyncio.Future[Any]) -> None:
        """Nobody waits for it any more: one that computes for ever would slow all others down."""
        thread = self._threads.get(ended)
        if thread is not None and thread.ident is not None:
            interrupt(thread.ident)

    def _end(self, ended: asyncio.Future[Any], outcome: Outcome[Any]) -> None:
        self._free.release()
        self._threads.pop(ended, None)
        if not ended.done():
            ended.set_result(outcome)


def attempt(work: Callable[[], T]) -> Outcome[T]:
    try:
        return Outcome(value=work())
    except BaseException as error:  # noqa: BLE001 - the edge of a thread: told to who waits for it
        return Outcome(error=error)
