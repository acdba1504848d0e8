"""The live door: a snapshot, then ticks, only for people who may see the run."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from channels.db import database_sync_to_async
from channels.testing import WebsocketCommunicator
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.test import Client

from evalsite.asgi import application
from evalsite.session_age import STARTED
from runs import consumers
from runs.live import publish
from runs.models import Run
from runs.roles import Role
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import record_results
from runs.services.people.roles import give_role, set_active
from runs.services.people.sharing import share_run
from runs.services.people.teams import add_member, create_team, remove_member
from runs.services.runs import cancel_run, create_run
from tests.harness.factories import make_person
from tests.harness.patience import PATIENCE_SECONDS
from tests.workers.test_recording import results_of, take

pytestmark = pytest.mark.django_db(transaction=True)

ORIGIN = django_settings.ORIGINS[0].encode()


@pytest.fixture
def run(ada: User, document: dict[str, Any]) -> Run:
    run = create_run(ada, document)
    advance_run(run.pk)
    run.refresh_from_db()
    return run


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def socket(run: Run, client: Client | None, origin: bytes | None = ORIGIN) -> WebsocketCommunicator:
    headers = [(b"origin", origin)] if origin else []
    if client:
        name = django_settings.SESSION_COOKIE_NAME
        headers.append((b"cookie", f"{name}={client.cookies[name].value}".encode()))
    return WebsocketCommunicator(application, f"/ws/runs/{run.pk}/", headers)


@asynccontextmanager
async def connected(run: Run, client: Client | None) -> AsyncIterator[WebsocketCommunicator]:
    communicator = socket(run, client)
    is_open, _ = await communicator.connect(timeout=PATIENCE_SECONDS)
    assert is_open
    yield communicator
    await communicator.disconnect(timeout=PATIENCE_SECONDS)


async def next_frame(communicator: WebsocketCommunicator, *kinds: str) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            frame: dict[str, Any] = await communicator.receive_json_from(timeout=PATIENCE_SECONDS)
            if frame["type"] in kinds:
                return frame


async def close_code(communicator: WebsocketCommunicator) -> int:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            message = await communicator.receive_output(timeout=PATIENCE_SECONDS)
            if message["type"] == "websocket.close":
                return int(message["code"])


def write_chunk(run: Run, place: int) -> None:
    record_results(run.pk, results_of(take(run, place)))


async def test_a_page_gets_a_snapshot_then_ticks_then_the_end(ada: User, run: Run) -> None:
    client = await database_sync_to_async(sign_in)(ada)
    async with connected(run, client) as page:
        assert (await next_frame(page, "hello"))["run"] == run.pk
        first = await next_frame(page, "snapshot")
        assert first["text"]["progress"] == "0 of 120 trials"
        await page.send_json_to({"type": "ack", "seq": first["seq"]})
        await database_sync_to_async(write_chunk)(run, 0)
        tick = await next_frame(page, "tick")
        assert tick["seq"] > first["seq"]
        assert tick["text"]["progress"] == "6 of 120 trials"
        assert tick["series"]["rows"][-1][1] == 6.0
        await page.send_json_to({"type": "ack", "seq": tick["seq"]})
        await database_sync_to_async(cancel_run)(run)
        assert (await next_frame(page, "end"))["state"] == "cancelled"


async def test_a_page_that_does_not_acknowledge_gets_no_backlog(
    ada: User, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the heartbeat, which sends all the same."""
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 10 * PATIENCE_SECONDS)
    client = await database_sync_to_async(sign_in)(ada)
    async with connected(run, client) as page:
        await next_frame(page, "snapshot")
        for place in range(4):
            await database_sync_to_async(write_chunk)(run, place)
            await database_sync_to_async(publish)(run.pk, always=True)
        assert await page.receive_nothing(timeout=0.8)
        await page.send_json_to({"type": "ack", "seq": 0})
        assert (await next_frame(page, "tick"))["text"]["progress"] == "24 of 120 trials"


async def test_a_lost_nudge_is_healed_by_the_heartbeat(
    ada: User, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.3)
    client = await database_sync_to_async(sign_in)(ada)
    async with connected(run, client) as page:
        first = await next_frame(page, "snapshot")
        await page.send_json_to({"type": "ack", "seq": first["seq"]})
        await next_frame(page, "beat")
        await database_sync_to_async(Run.objects.filter(pk=run.pk).update)(version=first["seq"] + 7)
        assert (await next_frame(page, "tick"))["seq"] == first["seq"] + 7


def close_account(ada: User, client: Client) -> None:
    root = make_person("root", staff=True)
    set_active(root, ada.pk, is_active=False)


def change_password(ada: User, client: Client) -> None:
    ada.set_password("another long password")
    ada.save()


def take_role(ada: User, client: Client) -> None:
    give_role(make_person("root", staff=True), ada.pk, None)


def wait_seven_days(ada: User, client: Client) -> None:
    session = client.session
    session[STARTED] = time.time() - timedelta(days=7, minutes=1).total_seconds()
    session.save()


async def code_after(
    lose: Callable[[User, Client], None], ada: User, run: Run, *, is_read: bool = True
) -> int:
    """With frames that nobody reads the heartbeat waits; the check must not. The heartbeat is left
    at 10 s, so that nothing but the check can close the socket in time."""
    client = await database_sync_to_async(sign_in)(ada)
    async with connected(run, client) as page:
        first = await next_frame(page, "snapshot")
        if is_read:
            await page.send_json_to({"type": "ack", "seq": first["seq"]})
        await database_sync_to_async(lose)(ada, client)
        return await close_code(page)


@pytest.fixture
def checks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "CHECK_SECONDS", 0.3)


@pytest.mark.usefixtures("checks_often")
@pytest.mark.parametrize("is_read", [True, False], ids=["a live page", "a page that is silent"])
async def test_a_sign_out_closes_the_socket_at_the_next_heartbeat(
    ada: User, run: Run, is_read: bool
) -> None:
    assert await code_after(lambda _, client: client.logout(), ada, run, is_read=is_read) == 4401


@pytest.mark.usefixtures("checks_often")
async def test_who_loses_the_role_loses_the_socket_at_the_next_heartbeat(
    ada: User, run: Run
) -> None:
    assert await code_after(take_role, ada, run) == 4404


@pytest.mark.usefixtures("checks_often")
@pytest.mark.parametrize("lose", [change_password, close_account, wait_seven_days])
async def test_a_session_that_ends_in_another_way_closes_the_socket(
    ada: User, run: Run, lose: Callable[[User, Client], None]
) -> None:
    assert await code_after(lose, ada, run) == 4401


def test_a_socket_is_checked_often_enough_to_close_within_ten_seconds() -> None:
    assert consumers.CHECK_SECONDS <= 5


async def test_nobody_signed_in_is_told_so(run: Run) -> None:
    async with connected(run, None) as page:
        assert await close_code(page) == 4401


async def test_a_strangers_run_does_not_exist(run: Run) -> None:
    bob = await database_sync_to_async(make_person)("bob")
    client = await database_sync_to_async(sign_in)(bob)
    async with connected(run, client) as page:
        assert await close_code(page) == 4404


async def test_a_viewer_watches_a_shared_run_until_it_is_shared_no_more(
    ada: User, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "HEARTBEAT_SECONDS", 0.3)
    viewer = await database_sync_to_async(make_person)("eve", role=Role.VIEWER)
    client = await database_sync_to_async(sign_in)(viewer)
    await database_sync_to_async(share_run)(run, ada, is_shared=True)
    async with connected(run, client) as page:
        first = await next_frame(page, "snapshot")
        await page.send_json_to({"type": "ack", "seq": first["seq"]})
        await database_sync_to_async(share_run)(run, ada, is_shared=False)
        assert await close_code(page) == 4404


async def test_who_leaves_a_team_loses_the_sockets_of_its_runs_at_once(
    ada: User, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting for the next check."""
    for name in ("HEARTBEAT_SECONDS", "CHECK_SECONDS"):
        monkeypatch.setattr(consumers, name, 10 * PATIENCE_SECONDS)
    viewer = await database_sync_to_async(make_person)("eve", role=Role.VIEWER)
    admin = await database_sync_to_async(make_person)("root", staff=True)
    client = await database_sync_to_async(sign_in)(viewer)
    team = await database_sync_to_async(create_team)(admin, "research")
    await database_sync_to_async(add_member)(admin, team, "eve")
    await database_sync_to_async(share_run)(run, ada, is_shared=False, team=team)
    async with connected(run, client) as page:
        first = await next_frame(page, "snapshot")
        await page.send_json_to({"type": "ack", "seq": first["seq"]})
        await database_sync_to_async(remove_member)(admin, team, "eve")
        assert await close_code(page) == 4404


@pytest.mark.parametrize(
    "origin",
    [
        None,
        b"null",
        b"http://evil.example",
        b"http://127.0.0.1:8001",
        ORIGIN.replace(b"http://", b"https://"),
    ],
)
async def test_another_origin_is_refused(ada: User, run: Run, origin: bytes | None) -> None:
    client = await database_sync_to_async(sign_in)(ada)
    is_open, _ = await socket(run, client, origin).connect(timeout=PATIENCE_SECONDS)
    assert not is_open


@pytest.mark.parametrize(
    "text", ["{}", "[]", "nonsense", '{"type": "eval"}', "x" * 5000, "[" * 3000]
)
async def test_anything_unknown_closes_the_socket(ada: User, run: Run, text: str) -> None:
    client = await database_sync_to_async(sign_in)(ada)
    async with connected(run, client) as page:
        await page.send_to(text_data=text)
        assert await close_code(page) == 1008
