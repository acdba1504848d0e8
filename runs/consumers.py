"""The live door: sends a run's snapshot, then ticks, to a page that may see the run.

Frames are absolute and numbered. At most one frame is unacknowledged: a slow page gets fewer
frames, never a backlog. A heartbeat reads the truth again, so that no lost nudge stays lost.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import Coroutine, Mapping
from typing import Any

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AbstractBaseUser
from django.db import DatabaseError
from django.http import Http404
from django.utils import timezone

from runs.access import get_run_for
from runs.live import group_of
from runs.models import Run
from runs.open_sockets import open_sockets
from runs.roles import Permission, may
from runs.selectors.quotas import quota_of
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.people.accounts import person_of_session

HEARTBEAT_SECONDS = 10
CHECK_SECONDS = 5  # who may not be here any more is gone within 10 s, also from a silent page
JOIN_SECONDS = 8  # Redis may be starting just now
FRAME_SECONDS = 0.25  # at most 4 frames a second to one page
MAX_MESSAGE_CHARACTERS = 4096

logger = logging.getLogger(__name__)

SIGNED_OUT, NO_RUN, TOO_MANY, BAD_MESSAGE, TRY_LATER = 4401, 4404, 4429, 1008, 1013


class RunConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    permission = Permission.SEE  # and the run must be one that this person may see

    async def connect(self) -> None:
        self.run_id: int = self.scope["url_route"]["kwargs"]["run_id"]
        self.sent_seq = -1
        self.has_series = False
        self.news = asyncio.Event()
        self.acknowledged = asyncio.Event()
        self.is_closing = False
        self.counted_for: int | None = None
        self.tasks: list[asyncio.Task[None]] = []
        await self.accept()  # before any close, or the browser never sees the code
        await self._ask_who_it_is()
        if await self._read_run() is None or not await self._keep_counted():
            return
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                await self.channel_layer.group_add(group_of(self.run_id), self.channel_name)
        except TimeoutError:
            await self._end(TRY_LATER)
            return
        await self._send("hello", run=self.run_id, heartbeat_seconds=HEARTBEAT_SECONDS)
        self.news.set()
        self.acknowledged.set()
        both = (self._send_frames(), self._keep_watch())
        self.tasks = [asyncio.create_task(self._or_end(one)) for one in both]

    async def disconnect(self, code: int) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.counted_for is not None:
            await asyncio.to_thread(open_sockets().forget, self.counted_for, self.channel_name)
        await self.channel_layer.group_discard(group_of(self.run_id), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        kind = read_kind(text_data)
        if kind == "ack":
            self.acknowledged.set()
        elif kind == "resync":
            self.has_series, self.sent_seq = False, -1
            self.acknowledged.set()
            self.news.set()
        elif kind != "ping":
            await self._end(BAD_MESSAGE)

    async def run_news(self, event: dict[str, Any]) -> None:
        """A nudge from a worker."""
        self.news.set()

    async def _keep_watch(self) -> None:
        """Frames wait for news and acknowledgements; a sign-out does not wait for either."""
        while not self.is_closing:
            await asyncio.sleep(CHECK_SECONDS)
            await self._ask_who_it_is()
            if await self._read_run() is not None:
                await self._keep_counted()

    async def _or_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Whatever goes wrong: a page that is cut connects again, one that gets nothing waits."""
        try:
            await work
        except DatabaseError:
            logger.warning("The database is away: a page of run %s is cut.", self.run_id)
            await self._end(TRY_LATER)
        except Exception:
            logger.exception("A page of run %s is cut.", self.run_id)
            await self._end(TRY_LATER)

    async def _send_frames(self) -> None:
        is_more_to_come = True
        while is_more_to_come:
            await wait_for(self.news, HEARTBEAT_SECONDS)
            await wait_for(self.acknowledged, HEARTBEAT_SECONDS)
            self.news.clear()
            is_more_to_come = await self._send_frame()
            await asyncio.sleep(FRAME_SECONDS)

    async def _send_frame(self) -> bool:
        """Send what is new, or a heartbeat. False when there is nothing more to come."""
        run = await self._read_run()
        if run is None:
            return False
        if run.version == self.sent_seq and not run.is_finished:
            await self._send("beat", seq=run.version)
            return True
        snapshot = await database_sync_to_async(take_snapshot)(run, series=not self.has_series)
        self.acknowledged.clear()
        await self._send("tick" if self.has_series else "snapshot", **snapshot)
        self.sent_seq, self.has_series = run.version, True
        if run.is_finished:
            await self._send("end", seq=run.version, state=run.state)
        return not run.is_finished

    async def _read_run(self) -> Run | None:
        """The run, if this person still may see it; else the socket is closed with the reason."""
        if self.person is None:
            await self._end(SIGNED_OUT)
            return None
        try:
            run: Run = await database_sync_to_async(self._ask_for_run)(self.person)
            return run
        except Http404:
            await self._end(NO_RUN)
            return None

    async def _keep_counted(self) -> bool:
        """Whether this is one of the sockets that the person may have; else it is closed."""
        person, most = self.person.pk, await database_sync_to_async(sockets_of)(self.person)
        is_counted = await asyncio.to_thread(open_sockets().keep, person, self.channel_name, most)
        self.counted_for = person if is_counted else None
        if not is_counted:  # static/js/live.js shows why
            pages = "page of yours is" if most == 1 else "pages of yours are"
            await self._end(TOO_MANY, f"{most:,} {pages} already live.")
        return is_counted

    async def _ask_who_it_is(self) -> None:
        self.person = await database_sync_to_async(person_of)(self.scope)

    async def _end(self, code: int, reason: str | None = None) -> None:
        """Close once, whichever task finds out first."""
        if not self.is_closing:
            self.is_closing = True
            await self.close(code, reason)

    def _ask_for_run(self, person: AbstractBaseUser) -> Run:
        if not may(person, self.permission):
            raise Http404
        return get_run_for(person, self.run_id)

    async def _send(self, kind: str, **fields: Any) -> None:
        if self.is_closing:
            return
        frame = {"type": kind, "server_time": timezone.now().isoformat(), **fields}
        await self.send(text_data=json.dumps(frame, separators=(",", ":"), allow_nan=False))


async def wait_for(event: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def person_of(scope: Mapping[str, Any]) -> AbstractBaseUser | None:
    """Who the session belongs to now."""
    session = scope.get("session")
    return person_of_session(session.session_key) if session is not None else None


def sockets_of(person: AbstractBaseUser) -> int:
    return quota_of(person).sockets


def read_kind(text: str | None) -> str:
    """The type of a client's message; empty if it is none of ours."""
    if text is None or len(text) > MAX_MESSAGE_CHARACTERS:
        return ""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    kind = message.get("type") if isinstance(message, dict) else None
    return kind if isinstance(kind, str) else ""
