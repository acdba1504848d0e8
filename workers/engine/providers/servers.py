"""Several servers behind one endpoint: the least loaded gets the next call, a dead one gets none.

One that cannot be reached is left out and tried again with a single call after a while. Each
process counts its own calls only: servers are shared fairly enough when every process does so.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from workers.engine.errors import ConnectionFailed
from workers.engine.http import Unreachable

FIRST_PAUSE_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0

Found = TypeVar("Found")


@dataclass(slots=True)
class Server:
    url: str
    in_flight: int = 0
    turn: int = 0  # when it got its last call; breaks ties, so that idle servers take turns
    out_until: float = 0.0
    pause_seconds: float = 0.0  # of the latest outage; 0: it is in

    def leave_out(self, now: float, pause_seconds: float) -> None:
        self.pause_seconds = pause_seconds
        self.out_until = now + pause_seconds

    def take_back(self) -> None:
        self.pause_seconds = self.out_until = 0.0


class Servers:
    """Kept for the life of the process, so that runs know of each other's load and losses."""

    def __init__(
        self, urls: Sequence[str], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._servers = [Server(url.rstrip("/")) for url in urls]
        self._monotonic = monotonic
        self._turns = 0

    async def call(self, send: Callable[[str], Awaitable[Found]]) -> Found:
        """Send to the best server. A call that could not even connect goes to the next one."""
        if len(self._servers) == 1:
            return await send(self._servers[0].url)
        while True:
            server = self._choose()
            is_probe = bool(server.pause_seconds)
            if is_probe:  # the others stay away until this call has told how it is
                server.leave_out(self._monotonic(), server.pause_seconds)
            try:
                found = await self._use(server, send)
            except Unreachable:
                self._note_dead(server, is_probe)
                continue
            if is_probe:
                server.take_back()
            return found

    def _choose(self) -> Server:
        now = self._monotonic()
        ready = [server for server in self._servers if server.out_until <= now]
        if not ready:
            seconds = min(server.out_until for server in self._servers) - now
            raise ConnectionFailed(
                f"None of the {len(self._servers)} servers can be reached. "
                f"The next one is tried again in {seconds:.0f} s."
            )
        return min(ready, key=lambda server: (server.in_flight, server.turn))

    async def _use(self, server: Server, send: Callable[[str], Awaitable[Found]]) -> Found:
        self._turns += 1
        server.turn = self._turns
        server.in_flight += 1
        try:
            return await send(server.url)
        finally:
            server.in_flight -= 1

    def _note_dead(self, server: Server, is_probe: bool) -> None:
        now = self._monotonic()
        if is_probe:
            server.leave_out(now, min(2 * server.pause_seconds, LONGEST_PAUSE_SECONDS))
        elif server.out_until <= now:  # else another call has found out already
            server.leave_out(now, FIRST_PAUSE_SECONDS)
