"""The async lane: a call on the event loop, under a total deadline."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from workers.engine.errors import TimedOut

T = TypeVar("T")


class AsyncLane:
    """The deadline is around everything, because no library's timeouts stop a dripping server."""

    async def call(self, work: Awaitable[T], timeout_seconds: float) -> T:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await work
        except TimeoutError:
            raise TimedOut(f"No full answer within {timeout_seconds:g} s.") from None
