"""What one socket, and one person with many, may cost the web server: the real one, over TCP."""

import asyncio
import json
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
from aiohttp import WSMsgType
from channels.db import database_sync_to_async
from django.conf import settings

from evalsite.embedded.loose_parts import LooseParts
from evalsite.embedded.parts import WEBSOCKET_BYTES
from evalsite.web.sockets import BURST, Allowance
from runs import open_sockets
from runs.models import PersonQuota, RunState
from runs.open_sockets import OpenSockets, key_of
from tests.conftest import shared_redis
from tests.harness.factories import client_of, make_dataset, make_person, make_run
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import forget_peak_memory, memory_mb
from tests.harness.site import environment_of_the_tests
from tests.harness.table import row, table
from tests.simulator.calls import until

POLICY_VIOLATION, TOO_MANY = 1008, 4429
CUT = 1006  # without a word: nothing more is taken from the network
ADA = 7
FORGET_SECONDS = int(PATIENCE_SECONDS)
MOST = settings.SOCKETS_PER_PERSON


class Browser(NamedTuple):
    """Somebody who is signed in, and a run of theirs that goes on."""

    person: int
    http: aiohttp.ClientSession
    address: str

    async def connect(self):
        return await self.http.ws_connect(self.address)

    async def open_page(self):
        """A live page: it has its first numbers and said so."""
        socket = await self.connect()
        await read_until(socket, "snapshot")
        await say(socket, "ack")
        return socket


@database_sync_to_async
def running_and_signed_in():
    ada = make_person("ada")
    run = make_run(ada, make_dataset(ada), state=RunState.RUNNING, ended=None)
    name = settings.SESSION_COOKIE_NAME
    return run, {name: client_of(ada).cookies[name].value}


async def say(socket, kind):
    await socket.send_json({"type": kind})


async def read_until(socket, kind):
    while True:
        frame = json.loads(await socket.receive_str(timeout=PATIENCE_SECONDS))
        if frame["type"] == kind:
            return frame


async def read_to_the_end(socket):
    """The code and the reason with which the server closed it."""
    while True:
        message = await socket.receive(timeout=PATIENCE_SECONDS)
        if message.type is aiohttp.WSMsgType.CLOSE:
            return message.data, message.extra or ""
        if message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR):
            return socket.close_code, ""


async def until_counted(person, sockets):
    """So many sockets of a person are open, as the server counts them."""
    await until(lambda: shared_redis().zcard(key_of(person)) == sockets)


@pytest.fixture(scope="module")
def web(django_db_setup, django_db_blocker):
    """Only a web process, on the database and the Redis of the tests."""
    with django_db_blocker.unblock():
        env = environment_of_the_tests()
    parts = LooseParts(Path(env["EVALSITE_DATA"]), env, ready_seconds=PATIENCE_SECONDS)
    started = parts.start_web()
    try:
        parts.wait_for_web(started)
        yield started
    finally:
        started.kill()


@pytest.fixture
async def browser(web, transactional_db):
    run, cookies = await running_and_signed_in()
    url, many = web.env["EVALSITE_ORIGINS"], aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        headers={"Origin": url}, cookies=cookies, connector=many
    ) as http:
        yield Browser(run.owner_id, http, f"{url}/ws/runs/{run.pk}/")


@pytest.fixture
def remembers_long():
    """What this process keeps is not forgotten because it is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_sockets, "FORGET_SECONDS", FORGET_SECONDS)
        yield


@table(
    ('{"type": "eval"}', POLICY_VIOLATION),
    ("nonsense", POLICY_VIOLATION),
    ("{}", POLICY_VIOLATION),
    ("[]", POLICY_VIOLATION),
    ("[" * 3000, POLICY_VIOLATION),
    ("x" * 5000, POLICY_VIOLATION),
    ("x" * WEBSOCKET_BYTES, POLICY_VIOLATION),
    row("x" * (WEBSOCKET_BYTES + 1), CUT, id="above 64 KB, which is not even read"),
)
async def test_an_unknown_or_too_large_frame_closes_the_socket(browser, text, code):
    socket = await browser.open_page()
    await socket.send_str(text)
    assert await read_to_the_end(socket) == (code, "")


def frame_of(opcode, text, *, is_last=True):
    """As a browser sends it: masked, by zeros."""
    return bytes([opcode | (0x80 if is_last else 0), 0x80 | len(text), 0, 0, 0, 0]) + text


@table(
    row([WSMsgType.TEXT] * 100, b'{"type": "ping"}', True, id="messages"),
    row([WSMsgType.PING] * 100, b"x", True, id="no messages"),
    row([WSMsgType.TEXT, *[WSMsgType.CONTINUATION] * 99], b"x", False, id="one without an end"),
)
async def test_a_burst_of_frames_closes_the_socket_with_1008(browser, kinds, text, is_last):
    socket = await browser.open_page()
    frames = b"".join(frame_of(kind, text, is_last=is_last) for kind in kinds)
    socket._conn.transport.write(frames)  # all at once, however busy the machine is
    assert await read_to_the_end(socket) == (POLICY_VIOLATION, "")


async def test_a_page_that_was_asleep_may_acknowledge_five_seconds_at_once(browser):
    socket = await browser.open_page()
    for _ in range(BURST - 2):  # the page itself said one, and says one more
        await say(socket, "ack")
    await say(socket, "resync")
    await read_until(socket, "snapshot")


@table((4, True), (10, True), (12, False))
def test_only_more_than_ten_frames_a_second_are_too_many(a_second, is_let_be):
    clock = count(step=1 / a_second)
    allowance = Allowance(lambda: next(clock))
    assert all(allowance.take() for _ in range(3600)) is is_let_be


def test_a_long_silence_earns_no_more_than_a_burst():
    times = iter([0.0] + [3600.0] * (BURST + 1))
    allowance = Allowance(lambda: next(times))
    assert [allowance.take() for _ in range(BURST + 1)] == [True] * BURST + [False]


async def test_the_21st_socket_of_a_person_is_refused_and_says_why(browser):
    elsewhere = OpenSockets(settings.REDIS_URL)  # another web process
    beats = time.time() + PATIENCE_SECONDS  # as if they said again and again that they are there
    kept = {f"page {number}": beats for number in range(MOST - 2)}
    shared_redis().zadd(key_of(browser.person), kept)
    first, last = [await browser.open_page() for _ in range(2)]
    reason = "20 pages of yours are already live."
    assert await read_to_the_end(await browser.connect()) == (TOO_MANY, reason)
    assert not elsewhere.keep(browser.person, "one more", MOST)
    await say(first, "resync")  # the others go on
    await read_until(first, "snapshot")
    await last.close()
    await until_counted(browser.person, MOST - 1)
    await browser.open_page()


async def test_an_administrator_says_how_many_sockets_a_person_may_have(browser):
    first = await browser.open_page()
    await PersonQuota.objects.acreate(person_id=browser.person, sockets=1)
    reason = "1 page of yours is already live."
    assert await read_to_the_end(await browser.connect()) == (TOO_MANY, reason)
    await say(first, "resync")
    await read_until(first, "snapshot")
    await PersonQuota.objects.filter(person_id=browser.person).aupdate(sockets=2)
    await browser.open_page()


def test_sockets_of_a_web_process_that_died_are_forgotten(remembers_long):
    died, alive = OpenSockets(settings.REDIS_URL), OpenSockets(settings.REDIS_URL)
    for number in range(MOST):
        assert died.keep(ADA, f"page {number}", MOST)
    assert not alive.keep(ADA, "a page", MOST)
    for number in range(1, MOST):
        shared_redis().zincrby(key_of(ADA), -FORGET_SECONDS, f"page {number}")  # the time passes
    assert died.keep(ADA, "page 0", MOST)  # says again that it is there
    assert alive.keep(ADA, "a page", MOST)
    assert shared_redis().zcard(key_of(ADA)) == 2
    assert 0 < shared_redis().ttl(key_of(ADA)) <= FORGET_SECONDS + 1


@table(settings.REDIS_URL, row("redis://127.0.0.1:1/0", id="without Redis"))
def test_a_counted_socket_stays_and_others_are_refused_until_one_goes(remembers_long, url):
    here = OpenSockets(url)
    kept = [f"page {number}" for number in range(MOST)]
    for _ in range(2):
        assert all(here.keep(ADA, one, MOST) for one in kept)
        assert not here.keep(ADA, "one more", MOST)
    assert here.keep(ADA + 1, "of somebody else", MOST)
    here.forget(ADA, kept[0])
    assert here.keep(ADA, "one more", MOST)


async def test_a_flood_of_frames_and_sockets_of_one_person_takes_no_memory(web, browser):
    await (await browser.open_page()).close()  # what is loaded at the first one stays
    before = forget_peak_memory(web.pid)
    codes = [await send_frames(browser, size) for size in (20, 4_000, 60_000)]
    await until_counted(browser.person, 0)
    kept: list[aiohttp.ClientWebSocketResponse] = []  # one that nobody holds is closed
    pages = await asyncio.gather(*[fate_of_a_page(browser, kept) for _ in range(120)])
    grown = memory_mb(web.pid, "VmHWM") - before
    assert set(codes) <= {1008, 1006}
    assert Counter(pages) == {"live": 20, "4429": 100}
    assert grown <= 20


async def send_frames(browser, size):
    """100 MB of messages as fast as the network takes them; nothing that comes back is read."""
    socket = await browser.open_page()
    text = json.dumps({"type": "ping", "more": "x" * size}).encode()
    try:
        for _ in range(100_000_000 // len(text)):
            await socket.send_frame(text, aiohttp.WSMsgType.TEXT)
    except (aiohttp.ClientError, ConnectionError):
        pass  # it was closed
    code, _ = await read_to_the_end(socket)
    return code


async def fate_of_a_page(browser, kept):
    kept.append(socket := await browser.connect())
    message = await socket.receive(timeout=PATIENCE_SECONDS)
    return str(message.data) if message.type is aiohttp.WSMsgType.CLOSE else "live"
