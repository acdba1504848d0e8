"""What one socket, and one person with many, may cost the web server: the real one, over TCP."""

from __future__ import annotations

import time
from itertools import count

import aiohttp
import pytest
from django.conf import settings

from evalsite.embedded.parts import WEBSOCKET_BYTES
from evalsite.web.sockets import BURST, Allowance
from runs import open_sockets
from runs.models import PersonQuota
from runs.open_sockets import OpenSockets, key_of
from tests.conftest import shared_redis
from tests.harness.patience import PATIENCE_SECONDS
from tests.platform.web_process import (
    browser_at,
    read_to_the_end,
    read_until,
    running_web,
    say,
    until_counted,
)

POLICY_VIOLATION, TOO_MANY = 1008, 4429
CUT = 1006  # without a word: nothing more is taken from the network
ADA = 7
FORGET_SECONDS = int(PATIENCE_SECONDS)
MOST = settings.SOCKETS_PER_PERSON


@pytest.fixture(scope="module")
def web(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), running_web() as started:
        yield started


@pytest.fixture
async def browser(web, transactional_db):
    async with await browser_at(web) as browser:
        yield browser


@pytest.fixture
def remembers_long():
    """What this process keeps is not forgotten because it is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(open_sockets, "FORGET_SECONDS", FORGET_SECONDS)
        yield


@pytest.mark.parametrize(
    "text", ['{"type": "eval"}', "nonsense", "x" * 5000], ids=["a type", "no JSON", "too long"]
)
async def test_an_unknown_frame_closes_the_socket_with_1008(browser, text):
    socket = await browser.open_page()
    await socket.send_str(text)
    assert await read_to_the_end(socket) == (POLICY_VIOLATION, "")


@pytest.mark.parametrize(
    ("size", "code"), [(WEBSOCKET_BYTES, POLICY_VIOLATION), (WEBSOCKET_BYTES + 1, CUT)]
)
async def test_a_message_above_64_kb_is_not_even_read(browser, size, code):
    socket = await browser.open_page()
    await socket.send_str("x" * size)
    assert await read_to_the_end(socket) == (code, "")


async def test_a_burst_of_messages_closes_the_socket_with_1008(browser):
    socket = await browser.open_page()
    messages = b"".join(frame_of(aiohttp.WSMsgType.TEXT, b'{"type": "ping"}') for _ in range(100))
    socket._conn.transport.write(messages)  # all at once, however busy the machine is
    assert await read_to_the_end(socket) == (POLICY_VIOLATION, "")


def frame_of(opcode: int, text: bytes, *, is_last: bool = True) -> bytes:
    """As a browser sends it: masked, by zeros."""
    return bytes([opcode | (0x80 if is_last else 0), 0x80 | len(text), 0, 0, 0, 0]) + text


@pytest.mark.parametrize("opcode", [aiohttp.WSMsgType.PING, aiohttp.WSMsgType.CONTINUATION])
async def test_frames_that_are_no_message_count_too(browser, opcode):
    socket = await browser.open_page()
    kinds = [opcode] * 100
    if opcode is aiohttp.WSMsgType.CONTINUATION:
        kinds[0] = aiohttp.WSMsgType.TEXT
    is_last = opcode is aiohttp.WSMsgType.PING
    frames = b"".join(frame_of(kind, b"x", is_last=is_last) for kind in kinds)
    socket._conn.transport.write(frames)
    assert await read_to_the_end(socket) == (POLICY_VIOLATION, "")


async def test_a_page_that_was_asleep_may_acknowledge_five_seconds_at_once(browser):
    socket = await browser.open_page()
    for _ in range(BURST - 2):  # the page itself said one, and says one more
        await say(socket, "ack")
    await say(socket, "resync")
    await read_until(socket, "snapshot")


@pytest.mark.parametrize(("a_second", "is_let_be"), [(4, True), (10, True), (12, False)])
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


def test_a_socket_that_is_counted_stays_when_others_are_refused(remembers_long):
    here = OpenSockets(settings.REDIS_URL)
    kept = [f"page {number}" for number in range(MOST)]
    assert all(here.keep(ADA, one, MOST) for one in kept)
    assert not here.keep(ADA, "one more", MOST)
    assert all(here.keep(ADA, one, MOST) for one in kept)
    assert here.keep(ADA + 1, "of somebody else", MOST)


def test_without_redis_a_web_process_counts_its_own(remembers_long):
    alone = OpenSockets("redis://127.0.0.1:1/0")
    kept = [f"page {number}" for number in range(MOST)]
    assert all(alone.keep(ADA, one, MOST) for one in kept)
    assert not alone.keep(ADA, "one more", MOST)
    alone.forget(ADA, kept[0])
    assert alone.keep(ADA, "one more", MOST)
