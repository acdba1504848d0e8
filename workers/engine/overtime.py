"""Ends code of plug-ins that keeps a thread of ours: a strategy that plans for ever, an agent that
never awaits.

Python can raise an exception in another thread, at its next instruction. That does not reach what
waits in C, or catches everything: then `on_stuck` is told, which ends the process.
"""

import asyncio
import ctypes
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from workers.engine.errors import EngineError

logger = logging.getLogger(__name__)

STRATEGY_SECONDS = 10.0  # for one answer, as of scorers; SQLite waits 20 s for its lock meanwhile
LOOP_SECONDS = 5.0  # without a beat of the loop; a lease that nobody renews is lost after 9 s
GRACE_SECONDS = 10.0  # to end after the exception; then it is not reached by it
LOOK_SECONDS = 0.5
FROZEN_SECONDS = 3.0  # a look that is so late says that the whole process was stopped
BEAT_SECONDS = 0.5


class Overdue(EngineError):
    """Raised in code that did not come to an end by itself."""

    def __init__(self, told: str = "It did not come to an end, and was interrupted.") -> None:
        super().__init__(told)


@dataclass(slots=True)
class Piece:
    """Work on a thread, and when it should be over."""

    thread: int
    what: str
    until: float
    is_interrupted: bool = False


class Overtime:
    """One daemon thread looks at all pieces; where there are none, none is started."""

    def __init__(self) -> None:
        self._pieces: dict[int, Piece] = {}  # by the piece's own id
        self._keeper: threading.Thread | None = None
        self.on_stuck: Callable[[str], None] = lambda what: None

    def open(self, what: str, seconds: float) -> Piece:
        """This thread begins something that should be over by then."""
        piece = Piece(threading.get_ident(), what, time.monotonic() + seconds)
        self._pieces[id(piece)] = piece
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep, daemon=True, name="overtime")
            self._keeper.start()
        return piece

    def close(self, piece: Piece) -> None:
        self._pieces.pop(id(piece), None)

    @contextmanager
    def limit(self, what: str, seconds: float) -> Iterator[None]:
        """Raise Overdue in this thread if the block takes longer, or too much memory."""
        piece = self.open(what, seconds)
        try:
            yield
        except Overdue:
            raise Overdue(f"{what} did not come to an end within {seconds:g} s.") from None
        except MemoryError as error:  # its own doing: others than it would end the process
            raise Overdue(f"{what} asked for more memory than there is (MemoryError).") from error
        finally:
            self.close(piece)

    def _keep(self) -> None:
        before = time.monotonic()
        while True:
            time.sleep(LOOK_SECONDS)
            now = time.monotonic()
            late, before = now - before - LOOK_SECONDS, now
            for piece in list(self._pieces.values()):
                piece.until += late if late > FROZEN_SECONDS else 0
                if now > piece.until:
                    self._end(piece, now)

    def _end(self, piece: Piece, now: float) -> None:
        if piece.is_interrupted:
            self.on_stuck(piece.what)
        elif id(piece) in self._pieces:
            logger.error("%s does not come to an end and is interrupted.", piece.what)
            piece.is_interrupted, piece.until = True, now + GRACE_SECONDS
            interrupt(piece.thread)


def interrupt(thread: int) -> None:
    """Raise Overdue there, at its next instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Overdue))


OVERTIME = Overtime()


@dataclass(slots=True)
class _Guard:
    """Of one loop: how many agents that may block it are under way."""

    agents: int = 0
    piece: Piece | None = None
    beat: asyncio.Task[None] | None = None


_guards: WeakKeyDictionary[asyncio.AbstractEventLoop, _Guard] = WeakKeyDictionary()


@asynccontextmanager
async def guarding_loop() -> AsyncIterator[None]:
    """Around an agent that runs on this loop: one that never awaits is interrupted, or the loop
    could renew no lease and make no other call."""
    guard = _guards.setdefault(asyncio.get_running_loop(), _Guard())
    guard.agents += 1
    if guard.piece is None:
        guard.piece = OVERTIME.open("An agent that never awaits", LOOP_SECONDS)
        guard.beat = asyncio.create_task(_beat(guard))
    try:
        yield
    finally:
        guard.agents -= 1
        if not guard.agents:
            OVERTIME.close(guard.piece)
            guard.piece = None


async def _beat(guard: _Guard) -> None:
    while (piece := guard.piece) is not None:
        piece.until, piece.is_interrupted = time.monotonic() + LOOP_SECONDS, False
        await asyncio.sleep(BEAT_SECONDS)
