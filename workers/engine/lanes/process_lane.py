"""The process lane: functions that compute, in child processes, away from the event loop."""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import TypeVar, cast
from weakref import WeakValueDictionary

from workers.engine.errors import LaneClosed, ProcessDied, TimedOut, WorkFailed
from workers.engine.lanes.child_process import ChildProcess
from workers.engine.lanes.child_program import describe, load, pack, unpack

logger = logging.getLogger(__name__)

T = TypeVar("T")

WORK_SECONDS = 10.0  # for a piece that brings no limit of its own
LOAD_SECONDS = 60.0  # for the import of large libraries, on a machine that is very busy
MOST_CHILDREN = 2  # of a worker; there may be many workers
MOST_BYTES = 4 * 1024 * 1024  # of a result: it is unpickled on the event loop, which must not stall
MOST_MEMORY = 512 * 1024**2  # bytes of a child; a worker's container may have 1 GB for all
END_SECONDS = 10.0  # for the kernel to end a process that was killed
NO_MODULES: frozenset[str] = frozenset()


class ProcessLane:
    """Children are started when they are needed, at most `size`, and stay for the next piece.

    A piece is a function at the top level of a module, with arguments that can be pickled. Its time
    begins when a child takes it, and includes no waiting for a child; nor the import of `modules`,
    which a child is told to import before. A child that is late, sends too much or dies costs its
    own piece only, and is replaced.
    """

    def __init__(
        self,
        timeout_seconds: float = WORK_SECONDS,
        size: int | None = None,
        most_bytes: int = MOST_BYTES,
        most_memory: int = MOST_MEMORY,
    ) -> None:
        self._seconds = timeout_seconds
        self._most_bytes = most_bytes
        self._most_memory = most_memory
        self.size = size or min(MOST_CHILDREN, os.cpu_count() or 1)
        self._places = asyncio.Semaphore(self.size)
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._children: set[ChildProcess] = set()
        self._idle: list[ChildProcess] = []
        self._is_closed = False

    def share(self, group: str) -> "ProcessShare":
        """What one of several users of the lane may have of it."""
        turns = self._turns.get(group) or asyncio.Semaphore(self.size)
        self._turns[group] = turns
        return ProcessShare(self, turns)

    async def call(
        self,
        function: Callable[..., T],
        *arguments: object,
        timeout_seconds: float | None = None,
        modules: frozenset[str] = NO_MODULES,
    ) -> T:
        """What the function returns, or a CallError. Runs share the lane, so each may bring its own
        time limit."""
        seconds = self._seconds if timeout_seconds is None else timeout_seconds
        piece = pack_piece(function, arguments, seconds)
        async with self._places:
            child = await self._take()
            try:
                if missing := modules - child.loaded:
                    order = pack_piece(load, (sorted(missing),), LOAD_SECONDS)
                    read_answer(child, await self._ask(child, order, LOAD_SECONDS))
                    child.loaded |= missing
                return cast(T, read_answer(child, await self._ask(child, piece, seconds)))
            finally:
                if child.is_usable:
                    self._idle.append(child)

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
        child = ChildProcess(self._most_bytes, self._most_memory)
        self._children.add(child)
        child.ended.add_done_callback(lambda _: self._children.discard(child))
        try:
            await child.start()
        except ProcessDied:
            self._check_open()
            raise
        return child

    async def _ask(self, child: ChildProcess, piece: bytes, seconds: float) -> bytes:
        try:
            async with asyncio.timeout(seconds):
                return await child.ask(piece)
        except TimeoutError:
            raise TimedOut(f"No result within {seconds:g} s. Its process was ended.") from None
        except ProcessDied:
            self._check_open()
            raise

    def _check_open(self) -> None:
        if self._is_closed:
            raise LaneClosed("The process lane was closed, so this work was not finished.")


class ProcessShare:
    """A run's share of the process lane. It has as many pieces there as there are children, at work
    or waiting, and keeps the others back: so the lane takes the runs in turn, and a run of slow
    pieces cannot keep the others from working."""

    def __init__(self, lane: ProcessLane, turns: asyncio.Semaphore) -> None:
        self._lane = lane
        self._turns = turns
        self.size = lane.size

    async def call(
        self,
        function: Callable[..., T],
        *arguments: object,
        timeout_seconds: float | None = None,
        modules: frozenset[str] = NO_MODULES,
    ) -> T:
        """As the lane's own."""
        async with self._turns:
            return await self._lane.call(
                function, *arguments, timeout_seconds=timeout_seconds, modules=modules
            )


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


def read_answer(child: ChildProcess, answer: bytes) -> object:
    try:
        is_result, content, is_last = unpack(answer)
    except Exception as error:  # noqa: BLE001 - results may be anything, and unpickle their own way
        raise WorkFailed(f"Its result cannot be read: {describe(error)}.") from None
    if is_last:
        child.kill()
    if not is_result:
        raise WorkFailed(content)
    return content
