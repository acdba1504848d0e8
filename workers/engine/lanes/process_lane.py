"""The process lane: functions that compute, in child processes, away from the event loop."""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import TypeVar, cast

from workers.engine.errors import LaneClosed, ProcessDied, TimedOut, WorkFailed
from workers.engine.lanes.child_process import ChildProcess
from workers.engine.lanes.child_program import describe, pack, unpack

logger = logging.getLogger(__name__)

T = TypeVar("T")

MOST_BYTES = 4 * 1024 * 1024  # of a result: it is unpickled on the event loop, which must not stall
END_SECONDS = 10.0  # for the kernel to end a process that was killed


class ProcessLane:
    """Children are started when they are needed, at most `size`, and stay for the next piece.

    A piece is a function at the top level of a module, with arguments that can be pickled. Its time
    begins when a child takes it, and includes the import of its module, but no waiting for a child.
    A child that is late, sends too much or dies costs its own piece only, and is replaced.
    """

    def __init__(
        self, timeout_seconds: float, size: int | None = None, most_bytes: int = MOST_BYTES
    ) -> None:
        self._seconds = timeout_seconds
        self._most_bytes = most_bytes
        self._places = asyncio.Semaphore(size or os.cpu_count() or 1)
        self._children: set[ChildProcess] = set()
        self._idle: list[ChildProcess] = []
        self._is_closed = False

    async def call(
        self, function: Callable[..., T], *arguments: object, timeout_seconds: float | None = None
    ) -> T:
        """What the function returns, or a CallError. Runs share the lane, so each may bring its own
        time limit."""
        seconds = self._seconds if timeout_seconds is None else timeout_seconds
        piece = pack_piece(function, arguments, seconds)
        async with self._places:
            try:
                child = await self._take()
                async with asyncio.timeout(seconds):
                    answer = await child.ask(piece)
            except TimeoutError:
                raise TimedOut(f"No result within {seconds:g} s. Its process was ended.") from None
            except ProcessDied:
                self._check_open()
                raise
            self._idle.append(child)
        return cast(T, read_answer(answer))

    @property
    def pids(self) -> set[int]:
        """Of the children that can work now."""
        return {child.pid for child in self._children if child.is_usable and child.pid}

    async def close(self) -> None:
        """Kill all children and wait for their end. Work under way ends with LaneClosed."""
        self._is_closed = True
        for child in self._children:
            child.kill()
        if self._children:
            await asyncio.wait([child.ended for child in self._children], timeout=END_SECONDS)
        if self._children:
            logger.error("Processes do not end: %s", [child.pid for child in self._children])

    async def _take(self) -> ChildProcess:
        """The child that worked last, if one is free: it has loaded what the next piece needs."""
        self._check_open()
        while self._idle:
            child = self._idle.pop()
            if child.is_usable:
                return child
        child = ChildProcess(self._most_bytes)
        self._children.add(child)
        child.ended.add_done_callback(lambda _: self._children.discard(child))
        await child.start()
        return child

    def _check_open(self) -> None:
        if self._is_closed:
            raise LaneClosed("The process lane was closed, so this work was not finished.")


def pack_piece(
    function: Callable[..., object], arguments: tuple[object, ...], seconds: float
) -> bytes:
    """The function is packed by itself: the child sets its watchdog before it imports anything."""
    try:
        if getattr(function, "__module__", None) == "__main__":
            raise ValueError("it is in __main__, which is another module there")
        return pack((seconds, pack((function, arguments))))
    except Exception as error:  # noqa: BLE001 - arguments may be anything, and pickle their own way
        told = f"It cannot be sent to another process ({describe(error)})."
        allowed = "Allowed: a function at the top level of a module, arguments that can be pickled."
        raise WorkFailed(f"{told} {allowed}") from None


def read_answer(answer: bytes) -> object:
    try:
        is_result, content = unpack(answer)
    except Exception as error:  # noqa: BLE001 - results may be anything, and unpickle their own way
        raise WorkFailed(f"Its result cannot be read: {describe(error)}.") from None
    if not is_result:
        raise WorkFailed(content)
    return content
