"""Following a run by server-sent events."""

import asyncio
import json
from contextlib import aclosing

import pytest
from channels.db import database_sync_to_async
from django.test import AsyncClient

from runs.api.routes import streams
from runs.models import Run, RunState
from runs.services.control.pauses import pause_run
from runs.services.events import note
from runs.services.people.tokens import create_token, revoke_token
from runs.services.runs import cancel_run
from tests.harness.factories import make_run
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import table

pytestmark = pytest.mark.django_db(transaction=True)

in_thread = database_sync_to_async


class Listener:
    """Reads a stream frame by frame."""

    def __init__(self, run, token, **headers):
        self.run, self.headers = run, {"Authorization": f"Bearer {token}", **headers}

    async def open(self):
        address = f"/api/v1/runs/{self.run.pk}/events/stream"
        return await AsyncClient().get(address, headers=self.headers)

    async def frames(self):
        answer = await self.open()
        assert (answer.status_code, answer["Content-Type"]) == (200, "text/event-stream")
        async with aclosing(aiter(answer)) as chunks:
            async for chunk in chunks:
                for text in chunk.decode().split("\n\n"):
                    if text and not text.startswith(":"):
                        yield dict(line.split(": ", 1) for line in text.split("\n"))

    async def all(self):
        return [frame async for frame in self.frames()]


@pytest.fixture
def token(alice):
    return create_token(alice, "test", ["read"]).text


@pytest.fixture
def run(alice, dataset):
    made = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    for number in range(3):
        note(made, f"event {number}")
    return made


@pytest.fixture(autouse=True)
def quick(set_constant):
    set_constant(streams, "FRAME_SECONDS", 0.01)


def finish(run):
    Run.objects.filter(pk=run.pk).update(state=RunState.COMPLETED)


async def test_a_finished_run_is_told_to_its_end_and_what_was_seen_not_again(run, token):
    await in_thread(finish)(run)
    frames = await Listener(run, token).all()
    assert [frame["event"] for frame in frames] == ["event"] * 3 + ["progress", "end"]
    assert json.loads(frames[0]["data"])["message"] == "event 0"
    assert json.loads(frames[3]["data"])["counts"]["planned"] == 3
    assert json.loads(frames[4]["data"]) == {"state": "completed"}
    frames = await Listener(run, token, **{"Last-Event-ID": frames[1]["id"]}).all()
    told = [json.loads(frame["data"]) for frame in frames if frame["event"] == "event"]
    assert [event["message"] for event in told] == ["event 2"]


async def test_news_arrive_while_a_run_goes_on(run, token, alice):
    frames = Listener(run, token).frames()
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(frames):
        for _ in range(4):  # the past
            await anext(frames)
        await in_thread(pause_run)(run, alice, "lunch")
        said = []
        async for frame in frames:
            said.append(frame)
            if frame["event"] == "event" and "lunch" in frame["data"]:
                await in_thread(cancel_run)(run)
    assert said[-1]["event"] == "end"
    assert json.loads(said[-1]["data"]) == {"state": "cancelled"}


async def test_a_lost_nudge_is_made_good_by_the_next_beat(run, token, set_constant):
    set_constant(streams, "BEAT_SECONDS", 0.05)
    frames = Listener(run, token).frames()
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(frames):
        await anext(frames)
        await in_thread(finish)(run)  # nobody is told
        assert [frame["event"] async for frame in frames][-1] == "end"


@table("token", "role")
async def test_who_loses_the_token_or_the_role_hears_no_more(run, alice, set_constant, lost):
    set_constant(streams, "BEAT_SECONDS", 0.05)
    made = await in_thread(create_token)(alice, "test", ["read"])
    frames = Listener(run, made.text).frames()
    async with asyncio.timeout(PATIENCE_SECONDS), aclosing(frames):
        await anext(frames)
        lose = {"token": lambda: revoke_token(made.token), "role": alice.groups.clear}[lost]
        await in_thread(lose)()
        assert "end" not in [frame["event"] async for frame in frames]


async def test_an_id_that_is_none_is_refused(run, token):
    """That strangers hear nothing: tests/roles/test_matrix.py."""
    for seen in ("x", "-1", "9" * 30, "²"):
        answer = await Listener(run, token, **{"Last-Event-ID": seen}).open()
        assert answer.status_code == 422
        assert answer["Content-Type"] == "application/problem+json"


async def test_a_person_has_only_so_many_streams(run, token, set_constant):
    set_constant(streams, "STREAMS_PER_PERSON", 1)
    frames = Listener(run, token).frames()
    async with aclosing(frames):
        await anext(frames)
        assert (await Listener(run, token).open()).status_code == 429
    async with asyncio.timeout(PATIENCE_SECONDS):
        # The first one is cleared away by and by, and whoever asks too often gets a 429, too.
        while (await Listener(run, token).open()).status_code == 429:  # noqa: ASYNC110
            await asyncio.sleep(0.02)  # it tells nobody when its place is free
