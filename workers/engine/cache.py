"""The cache's key, its in-process form, and one flight per key."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from workers.engine.kinds import digest
from workers.engine.records import Reply, Request

NAMESPACE = 1  # raise it when answers stored earlier must no longer be used


def cache_key(service: str, request: Request) -> str:
    """One key per service (kind and host), path, whole body and repeat."""
    return digest([NAMESPACE, service, request.path, request.body, request.repeat])


class ReplyCache(Protocol):
    async def get_many(self, keys: Sequence[str]) -> Mapping[str, Reply]: ...

    def put(self, key: str, request: Request, reply: Reply) -> None:
        """Keep a success. Must not block; storing may happen a little later."""
        ...


class MemoryCache:
    """A dict: for tests, benchmarks and runs without workers."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, Reply]:
        return {key: self.replies[key] for key in keys if key in self.replies}

    def put(self, key: str, request: Request, reply: Reply) -> None:
        self.replies[key] = reply


class SingleFlight:
    """Of several equal calls at the same time only one is made; the others join it.

    When the one that flies fails, a joiner takes over: its failure is not everybody's.
    """

    def __init__(self) -> None:
        self._flights: dict[str, asyncio.Future[Reply | None]] = {}

    async def join(self, key: str) -> Reply | None:
        """The answer of a flight under way, or None: then fly yourself, with `fly`."""
        while (flight := self._flights.get(key)) is not None:
            reply = await asyncio.shield(flight)
            if reply is not None:
                return reply
        return None

    async def fly(self, key: str, call: Callable[[], Awaitable[Reply]]) -> Reply:
        flight = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        reply: Reply | None = None
        try:
            reply = await call()
            return reply
        finally:
            del self._flights[key]
            flight.set_result(reply)
