"""The cache's key, its in-process form, and one flight per key."""

import asyncio
import math
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workers.engine.calling.flaws import flaw_of
from workers.engine.json_text import digest
from workers.engine.records import TRUNCATED, Reply, Request

NAMESPACE = 2  # raise it when answers stored earlier must no longer be used
FAILURES_SHARED = 2  # flights of others that a joiner sees fail before it flies on its own

Call = Callable[[], Awaitable[Reply]]


def cache_key(service: str, request: Request) -> str:
    """One key per service (kind, base URL and credential), path, whole body and repeat."""
    return digest([NAMESPACE, service, request.path, request.body, request.repeat])


def stored_reply(
    text: Any, latency_ms: Any, tokens_in: Any, tokens_out: Any, truncated: Any = False
) -> Reply | None:
    """An answer read back from where it was kept; None, so a miss, if it is not what was put in."""
    is_time = isinstance(latency_ms, int | float) and math.isfinite(latency_ms) and latency_ms >= 0
    if not isinstance(text, str) or not is_time:
        return None
    if not (is_token_count(tokens_in) and is_token_count(tokens_out)):
        return None
    flaw = TRUNCATED if truncated is True else flaw_of(text, "")  # earlier versions kept empty ones
    return Reply(text, float(latency_ms), tokens_in, tokens_out, cached=True, flaw=flaw)


def checksum(key: str, text: str, tokens_in: int | None, tokens_out: int | None) -> int:
    """Of an answer where it is kept, and for whom: a damaged one must be a miss, never a score."""
    return zlib.crc32(f"{key} {tokens_in} {tokens_out} {text}".encode(errors="surrogatepass"))


def is_token_count(value: Any) -> bool:
    return value is None or (isinstance(value, int) and value >= 0)


class ReplyCache(Protocol):
    async def get_many(self, keys: Sequence[str]) -> Mapping[str, Reply]: ...

    def put(self, key: str, request: Request, reply: Reply) -> None:
        """Keep a whole answer, or one that was cut off with its mark. Must not block; storing may
        happen a little later."""
        ...


class MemoryCache:
    """A dict: for tests, benchmarks and runs without workers."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}

    async def get_many(self, keys: Sequence[str]) -> Mapping[str, Reply]:
        return {key: self.replies[key] for key in keys if key in self.replies}

    def put(self, key: str, request: Request, reply: Reply) -> None:
        self.replies[key] = reply


class Landing(NamedTuple):
    reply: Reply
    is_joined: bool  # the answer of an equal call: nothing was sent for it


class Flights(Protocol):
    """Of several equal calls at the same time only one is made; the others join it."""

    async def fly(self, key: str, call: Call, scope: str = "") -> Landing:
        """The answer of an equal call under way in the same scope, or else that of `call`.

        Only successes are shared: when the one that flies fails, one of those waiting flies next.
        """
        ...


class SingleFlight:
    """One flight per key within this process."""

    def __init__(self) -> None:
        self._flights: dict[str, asyncio.Future[Reply | None]] = {}

    async def fly(self, key: str, call: Call, scope: str = "") -> Landing:
        name = scope + key
        failures = 0
        while (flight := self._flights.get(name)) is not None:
            reply = await asyncio.shield(flight)
            if reply is not None:
                return Landing(reply, is_joined=True)
            failures += 1
            if failures >= FAILURES_SHARED:  # one after the other, a thousand would take for ever
                return await self._take_off(key, call, scope)
        flight = self._flights[name] = asyncio.get_running_loop().create_future()
        reply = None
        try:
            landing = await self._take_off(key, call, scope)
            reply = landing.reply
            return landing
        finally:
            del self._flights[name]
            flight.set_result(reply)

    async def _take_off(self, key: str, call: Call, scope: str) -> Landing:
        """The call of the one that flies, of this process."""
        return Landing(await call(), is_joined=False)
