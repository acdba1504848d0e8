"""Posts to addresses that people write into configurations, as those of scorers that are services
of their own. They are reached under the policy of webhooks, whatever endpoints may call."""

import asyncio
from collections import defaultdict

from workers.engine.clock import Clock, SystemClock
from workers.engine.errors import (
    AnswerTooLarge,
    CallError,
    Refused,
    ServerError,
    TimedOut,
)
from workers.engine.http import Client, Resolver, look_up
from workers.engine.providers.addresses import check_url, place_of
from workers.engine.providers.routes import Route, open_client

AT_ONCE = 20  # from this process to one place: a slow one keeps only its own posts waiting
ATTEMPTS = 3
PAUSE_SECONDS = 0.5  # before the second attempt; then twice that
LARGEST_REPLY = 64 * 1024  # bytes
HEADERS = {"Content-Type": "application/json"}  # nothing that says who we are
BUSY = (408, 425, 429)  # that may go away, as those from 500 up


class Outside:
    """One per process. Nothing is opened before somebody posts."""

    def __init__(
        self,
        route: Route | None = None,
        clock: Clock | None = None,
        resolve: Resolver = look_up,
    ) -> None:
        self._route = route or Route()
        self._resolve = resolve
        self._clock = clock or SystemClock()
        self._client: Client | None = None
        self._slots: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(AT_ONCE)
        )

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def post(self, url: str, body: bytes, seconds: float) -> bytes:
        """What was answered. A CallError names the place, but not the whole URL: somebody may have
        put a secret into it."""
        parsed = check_url(url, self._route.policy)
        place = place_of(parsed.raw_host or "", parsed.port or 0)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with self._slots[place]:
                    return await self._post(str(parsed), body, place, seconds)
            except CallError as error:
                if attempt == ATTEMPTS or not error.is_transient:
                    raise
            await self._clock.sleep(PAUSE_SECONDS * attempt)
        raise AssertionError("The last attempt ends the loop.")

    async def _post(self, url: str, body: bytes, place: str, seconds: float) -> bytes:
        if self._client is None:
            self._client = open_client(self._route, self._resolve)
        try:
            async with asyncio.timeout(seconds):
                answer = await self._client.post(url, body, HEADERS)
        except TimeoutError:
            raise TimedOut(f"{place} gave no answer within {seconds:g} s.") from None
        if answer.status >= 500 or answer.status in BUSY:
            raise ServerError(f"{place} answered {answer.status}.")
        if not 200 <= answer.status < 300:
            raise Refused(f"{place} answered {answer.status}. Redirections are not followed.")
        if len(answer.body) > LARGEST_REPLY:
            told = f"{place} answered with {len(answer.body):,} bytes. Allowed: {LARGEST_REPLY:,}."
            raise AnswerTooLarge(told)
        return answer.body
