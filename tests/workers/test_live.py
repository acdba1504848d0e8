"""The live door: a snapshot, then ticks, only for people who may see the run."""

import asyncio
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from unittest.mock import Mock

import pytest
from channels.db import database_sync_to_async as in_thread
from channels.testing import WebsocketCommunicator
from django.conf import settings as django_settings
from django.db import OperationalError

from evalsite.asgi import application
from evalsite.session_age import STARTED
from runs import consumers
from runs.live import publish
from runs.models import Run
from runs.roles import Role
from runs.services.chunks.recording import record_results
from runs.services.people.roles import give_role, set_active
from runs.services.people.sharing import share_run
from runs.services.people.teams import add_member, create_team, remove_member
from runs.services.runs import cancel_run
from tests.harness.factories import client_of, make_person
from tests.harness.patience import PATIENCE_SECONDS
from tests.workers.test_recording import results_of, take

pytestmark = pytest.mark.django_db(transaction=True)

ORIGIN = django_settings.ORIGINS[0].encode()
NEVER = 10 * PATIENCE_SECONDS


@asynccontextmanager
async def connected(run, client):
    headers = [(b"origin", ORIGIN)]
    if client:
        name = django_settings.SESSION_COOKIE_NAME
        headers.append((b"cookie", f"{name}={client.cookies[name].value}".encode()))
    communicator = WebsocketCommunicator(application, f"/ws/runs/{run.pk}/", headers)
    is_open, _ = await communicator.connect(timeout=PATIENCE_SECONDS)
    assert is_open
    yield communicator
    await communicator.disconnect(timeout=PATIENCE_SECONDS)


@asynccontextmanager
async def watching(run, person, *, is_read=True):
    """A page that has its snapshot, and says so if it is read."""
    client = await in_thread(client_of)(person)
    async with connected(run, client) as page:
        first = await next_frame(page, "snapshot")
        if is_read:
            await page.send_json_to({"type": "ack", "seq": first["seq"]})
        yield page, first, client


async def next_frame(communicator, *kinds):
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            frame = await communicator.receive_json_from(timeout=PATIENCE_SECONDS)
            if frame["type"] in kinds:
                return frame


async def close_code(communicator):
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            message = await communicator.receive_output(timeout=PATIENCE_SECONDS)
            if message["type"] == "websocket.close":
                return message["code"]


def write_chunk(run, place):
    record_results(run.pk, results_of(take(run, place)))


async def test_a_page_gets_a_snapshot_then_ticks_then_the_end(alice, run):
    client = await in_thread(client_of)(alice)
    async with connected(run, client) as page:
        assert (await next_frame(page, "hello"))["run"] == run.pk
        first = await next_frame(page, "snapshot")
        assert first["text"]["progress"] == "0 of 120 trials"
        await page.send_json_to({"type": "ack", "seq": first["seq"]})
        await in_thread(write_chunk)(run, 0)
        tick = await next_frame(page, "tick")
        assert tick["seq"] > first["seq"]
        assert tick["text"]["progress"] == "6 of 120 trials"
        assert tick["series"]["rows"][-1][1] == 6.0
        await page.send_json_to({"type": "ack", "seq": tick["seq"]})
        await in_thread(cancel_run)(run)
        assert (await next_frame(page, "end"))["state"] == "cancelled"


async def test_a_page_that_does_not_acknowledge_gets_no_backlog(alice, run, monkeypatch):
    """Until the heartbeat, which sends all the same."""
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", NEVER)
    async with watching(run, alice, is_read=False) as (page, _, _):
        for place in range(4):
            await in_thread(write_chunk)(run, place)
            await in_thread(publish)(run.pk, always=True)
        assert await page.receive_nothing(timeout=0.8)  # a while: what must not come has no sign
        await page.send_json_to({"type": "ack", "seq": 0})
        assert (await next_frame(page, "tick"))["text"]["progress"] == "24 of 120 trials"


async def test_a_lost_nudge_is_healed_by_the_heartbeat(alice, run, monkeypatch):
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.3)
    async with watching(run, alice) as (page, first, _):
        await next_frame(page, "beat")
        await in_thread(Run.objects.filter(pk=run.pk).update)(version=first["seq"] + 7)
        assert (await next_frame(page, "tick"))["seq"] == first["seq"] + 7


def sign_out(alice, client):
    client.logout()


def close_account(alice, client):
    set_active(make_person("root", staff=True), alice.pk, is_active=False)


def change_password(alice, client):
    alice.set_password("another long password")
    alice.save()


def take_role(alice, client):
    give_role(make_person("root", staff=True), alice.pk, None)


def wait_seven_days(alice, client):
    session = client.session
    session[STARTED] = time.time() - timedelta(days=7, minutes=1).total_seconds()
    session.save()


@pytest.mark.parametrize(
    ("lose", "is_read", "code"),
    [
        pytest.param(sign_out, True, 4401, id="a live page"),
        pytest.param(sign_out, False, 4401, id="a page that is silent"),
        pytest.param(take_role, True, 4404, id="no role"),
        pytest.param(change_password, True, 4401, id="another password"),
        pytest.param(close_account, True, 4401, id="a closed account"),
        pytest.param(wait_seven_days, True, 4401, id="an old session"),
    ],
)
async def test_who_loses_the_session_or_the_role_loses_the_socket_at_the_next_check(
    alice, run, monkeypatch, lose, is_read, code
):
    """Frames wait for a page that reads nothing; nothing but the check can close it."""
    assert consumers.CHECK_SECONDS <= 5  # often enough to close it within ten seconds
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", NEVER)
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.3)
    async with watching(run, alice, is_read=is_read) as (page, _, client):
        await in_thread(lose)(alice, client)
        assert await close_code(page) == code


@pytest.mark.parametrize("error", [OperationalError("it was restarted"), ValueError("a defect")])
async def test_a_page_that_can_be_told_nothing_is_cut_so_that_it_connects_again(
    alice, run, monkeypatch, error
):
    async with watching(run, alice) as (page, _, _):
        monkeypatch.setattr(consumers, "take_snapshot", Mock(side_effect=error))
        await in_thread(write_chunk)(run, 0)
        assert await close_code(page) == consumers.TRY_LATER


async def test_who_may_not_see_the_run_is_told_so(bob, run):
    client = await in_thread(client_of)(bob)
    for who, code in ((None, 4401), (client, 4404)):
        async with connected(run, who) as page:
            assert await close_code(page) == code


async def test_a_viewer_watches_a_shared_run_until_it_is_shared_no_more(alice, run, monkeypatch):
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.3)
    viewer = await in_thread(make_person)("eve", role=Role.VIEWER)
    await in_thread(share_run)(run, alice, is_shared=True)
    async with watching(run, viewer) as (page, _, _):
        await in_thread(share_run)(run, alice, is_shared=False)
        assert await close_code(page) == 4404


async def test_who_leaves_a_team_loses_the_sockets_of_its_runs_at_once(alice, run, monkeypatch):
    """Without waiting for the next check."""
    for name in ("HEARTBEAT_SECONDS", "CHECK_SECONDS"):
        monkeypatch.setattr(consumers, name, NEVER)
    viewer = await in_thread(make_person)("eve", role=Role.VIEWER)
    admin = await in_thread(make_person)("root", staff=True)
    team = await in_thread(create_team)(admin, "research")
    await in_thread(add_member)(admin, team, "eve")
    await in_thread(share_run)(run, alice, is_shared=False, team=team)
    async with watching(run, viewer) as (page, _, _):
        await in_thread(remove_member)(admin, team, "eve")
        assert await close_code(page) == 4404
