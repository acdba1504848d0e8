"""A flood of bodies, frames or sockets costs the web server neither memory nor time."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from collections import Counter
from pathlib import Path

import aiohttp
import pytest

from scripts.flood_bodies import measure, memory_mb
from tests.harness.patience import PATIENCE_SECONDS
from tests.platform.web_process import (
    Browser,
    browser_at,
    read_to_the_end,
    running_web,
    until_counted,
)

pytestmark = pytest.mark.alone

MOST_FLOODS = 3


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "without"])
def test_a_flood_of_anonymous_bodies_is_refused_and_nobody_else_waits(tmp_path, chunked):
    asked = Namespace(
        server="evalsite.web", clients=100, megabytes=200, chunked=chunked, seconds=60
    )
    # A flood lasts a second or two: of several, one is not disturbed by the rest of the machine.
    for _ in range(MOST_FLOODS):
        found = measure(asked, str(tmp_path))
        assert set(found.answers) == {"413"}
        assert found.peak_mb <= 300
        if found.health_p95_ms <= max(200, 10 * found.quiet_p95_ms):
            return
    raise AssertionError(f"Others wait, in each of {MOST_FLOODS} floods; in the last: {found}")


async def test_a_flood_of_frames_and_sockets_of_one_person_takes_no_memory(transactional_db):
    with running_web() as web:
        async with await browser_at(web) as browser:
            await (await browser.open_page()).close()  # what is loaded at the first one stays
            before = memory_mb(web.pid, "VmRSS")
            count_peak_from_here(web.pid)
            codes = [await send_frames(browser, size) for size in (20, 4_000, 60_000)]
            await until_counted(browser.person, 0)
            kept: list[aiohttp.ClientWebSocketResponse] = []  # one that nobody holds is closed
            pages = await asyncio.gather(*[fate_of_a_page(browser, kept) for _ in range(120)])
            grown = memory_mb(web.pid, "VmHWM") - before
    assert set(codes) <= {1008, 1006}
    assert Counter(pages) == {"live": 20, "4429": 100}
    assert grown <= 20


def count_peak_from_here(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


async def send_frames(browser: Browser, size: int) -> int | None:
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


async def fate_of_a_page(browser: Browser, kept: list[aiohttp.ClientWebSocketResponse]) -> str:
    kept.append(socket := await browser.connect())
    message = await socket.receive(timeout=PATIENCE_SECONDS)
    return str(message.data) if message.type is aiohttp.WSMsgType.CLOSE else "live"
