"""The events of a run as they happen, as server-sent events: for scripts and behind proxies."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
import redis
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404, HttpRequest, StreamingHttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import get_run_for
from runs.api.doors import caller, caller_now, needs
from runs.api.problems import RequestProblem, refuse
from runs.api.router import Routes
from runs.api.routes.runs import RunId
from runs.live import group_of
from runs.models import Run, Scope
from runs.selectors.api_lists import EventRow, list_event_rows
from runs.selectors.runs.run_summary import summarise

routes = Routes(tags=["Results"])

BEAT_SECONDS = 8.0  # how often the truth is read again; who was signed out is gone within 10 s
FRAME_SECONDS = 1.0  # at most so often
MOST_AT_ONCE = 500  # events in one reading
STREAMS_PER_PERSON = 20  # in one process
PROGRESS = {"id", "state", "reason", "counts", "score", "rates", "cost", "eta_seconds"}
LARGEST_ID = 2**63 - 1

# Each of them; `data` is JSON.
ONE_EVENT = {
    "type": "object",
    "properties": {
        "event": {"enum": ["event", "progress", "end"]},
        "id": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}

_open: Counter[int] = Counter()


class StreamQuery(BaseModel):
    last_event_id: Annotated[
        int, Field(ge=0, le=LARGEST_ID, description="As the header `Last-Event-ID`.")
    ] = 0


@routes.get(
    "/runs/{int:run_id}/events/stream",
    auth=needs(Scope.READ),
    summary="Follow a run",
    openapi_extra={
        "parameters": [
            {
                "in": "header",
                "name": "Last-Event-ID",
                "required": False,
                "description": "The last event that was seen; those after it are sent.",
                "schema": {"type": "string", "pattern": "^[0-9]{1,18}$"},
            }
        ],
        "responses": {200: {"content": {"text/event-stream": {"schema": ONE_EVENT}}}},
    },
)
async def stream_events(
    request: HttpRequest, run_id: RunId, query: Query[StreamQuery]
) -> StreamingHttpResponse:
    """Server-sent events: `event` for what happened, with its id; `progress` with the numbers of
    the run, at most once a second; `end` with its state when it has ended. Send the last id as
    `Last-Event-ID` to go on where a connection broke."""
    person = caller(request)
    await sync_to_async(get_run_for)(person, run_id)  # as in any other request
    if _open[person.pk] >= STREAMS_PER_PERSON:
        raise RequestProblem(429, f"You have {STREAMS_PER_PERSON} streams open. Close one.")
    after = read_last_id(request) or query.last_event_id
    stream = follow(request, person, run_id, after)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingHttpResponse(stream, content_type="text/event-stream", headers=headers)


def read_last_id(request: HttpRequest) -> int:
    text = request.headers.get("Last-Event-ID", "0")
    if not text.isascii() or not text.isdecimal() or int(text[:20]) > LARGEST_ID:
        raise refuse("Last-Event-ID", "Send the id of an event unchanged.")
    return int(text)


async def follow(
    request: HttpRequest, person: AbstractBaseUser, run_id: int, after: int
) -> AsyncIterator[bytes]:
    """Until the run has ended, or the caller may not see it any more."""
    _open[person.pk] += 1
    version = -1
    try:
        async with News(run_id) as news:
            while run := await database_sync_to_async(read_run)(request, run_id):
                while rows := await read_events(run, after):
                    yield b"".join(frame_of("event", row.model_dump(), row.id) for row in rows)
                    after = rows[-1].id
                if run.version != version or run.is_finished:
                    version = run.version
                    yield await progress_frame(run)
                if run.is_finished:
                    yield frame_of("end", {"state": run.state})
                    return
                if not await news.wait():
                    yield b": beat\n\n"
    finally:
        _open[person.pk] -= 1


def read_run(request: HttpRequest, run_id: int) -> Run | None:
    """The truth; None when the token was revoked, the account closed, the role taken away, or the
    run is gone."""
    person = caller_now(request)
    with contextlib.suppress(Http404):
        return get_run_for(person, run_id) if person else None
    return None


async def read_events(run: Run, after: int) -> list[EventRow]:
    found: list[EventRow] = await database_sync_to_async(list_event_rows)(
        run, MOST_AT_ONCE, after=after
    )
    return found


async def progress_frame(run: Run) -> bytes:
    (summary,) = await database_sync_to_async(summarise)([run])
    return frame_of("progress", summary.model_dump(include=PROGRESS))


def frame_of(kind: str, data: dict[str, Any], number: int | None = None) -> bytes:
    named = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (
        named,
        kind.encode(),
        orjson.dumps(data, option=orjson.OPT_UTC_Z),
    )


class News:
    """The nudges of a run. Without Redis there are none, and every beat reads by itself."""

    def __init__(self, run_id: int) -> None:
        self.group = group_of(run_id)
        self.layer = get_channel_layer()
        self.channel = ""

    async def __aenter__(self) -> "News":
        with contextlib.suppress(redis.RedisError, OSError):
            self.channel = await self.layer.new_channel()
            await self.layer.group_add(self.group, self.channel)
        return self

    async def __aexit__(self, *args: object) -> None:
        with contextlib.suppress(redis.RedisError, OSError):
            await self.layer.group_discard(self.group, self.channel)

    async def wait(self) -> bool:
        """Whether there was news; else it is time for a beat. Never shorter than a frame."""
        await asyncio.sleep(FRAME_SECONDS)
        with contextlib.suppress(TimeoutError, redis.RedisError, OSError):
            async with asyncio.timeout(BEAT_SECONDS):
                await self.layer.receive(self.channel)
                return True
        return False
