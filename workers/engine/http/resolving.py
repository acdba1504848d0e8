"""Host names to addresses, remembered for a moment: many connections are opened at once."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from workers.engine.http.errors import UnknownHost, Unreachable

KEEP_SECONDS = 10.0

Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]  # as getaddrinfo
Resolver = Callable[[str, int], Awaitable[list[Address]]]


async def look_up(host: str, port: int) -> list[Address]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # the latter for a part of it that is empty or too long
        raise UnknownHost from None
    return [(*entry[:3], "", entry[4]) for entry in found]


class Addresses:
    """Each name is looked up once for all that wait for it."""

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self._known: dict[tuple[str, int], tuple[float, asyncio.Future[list[Address]]]] = {}

    async def of(self, host: str, port: int) -> list[Address]:
        if is_literal(host):
            return await self._resolve(host, port)  # needs no name server: nothing to remember
        until, found = self._known.get((host, port), (0.0, None))
        if found is None or time.monotonic() >= until or has_failed(found):
            found = asyncio.ensure_future(self._resolve(host, port))
            self._known[host, port] = time.monotonic() + KEEP_SECONDS, found
        try:
            return await asyncio.shield(found)  # one that gives up must not end it for the others
        except asyncio.CancelledError:
            if found.cancelled() and not is_cancelled_itself():
                raise Unreachable("The client was closed.") from None
            raise

    def close(self) -> None:
        """End what is being looked up: it would outlive its loop, which tells that to the log."""
        for _, found in self._known.values():
            found.cancel()


def is_cancelled_itself() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def has_failed(found: asyncio.Future[list[Address]]) -> bool:
    return found.done() and (found.cancelled() or found.exception() is not None)


def is_literal(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
