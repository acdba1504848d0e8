"""Pages while the web part dies, nudges are lost, or a reader is slow."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import pairwise
from math import inf
from typing import Any

import aiohttp
import psycopg
import pytest

from tests.faults.checker import busiest
from tests.faults.stage import STANDARD, Act, Load, wait_for
from tests.harness.processes import memory_mb
from workers.engine.ending_tasks import end_tasks

SHORT = Load(trials=240, latency_ms=200, slots=10)
FULL = STANDARD._replace(latency_ms=200)
HEARTBEAT_SECONDS = 10
READ_SECONDS = 10.0
WORKER_GRACE_SECONDS, WEB_GRACE_SECONDS = 30.0, 5.0  # as `serve` gives them
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 10.0  # as static/js/live.js while it polls
SAMPLE_SECONDS = 0.25
# A person has 20 sockets at most; those of a web part that was killed count for some seconds more.
PAGES_OF_A_PERSON = 10
STALE_SECONDS = 15.0  # a page that shows older numbers must say so


def counted(act: Act) -> int:
    """How many trials are done, as every page is told."""
    return int(act.site.database.one(f"SELECT done FROM runs_run WHERE id = {act.run}"))


@dataclass
class Viewer:
    """What one page was told, and when."""

    connected: list[float] = field(default_factory=list)
    snapshots: list[float] = field(default_factory=list)
    frames: int = 0
    last: dict[str, Any] = field(default_factory=dict)
    ended_at: float = 0.0
    shown: list[tuple[float, int]] = field(default_factory=list)  # moments, trials done
    cut: list[float] = field(default_factory=list)  # when its connection ended: the page says so

    def take(self, frame: dict[str, Any]) -> None:
        self.frames += 1
        if frame["type"] == "snapshot":
            self.snapshots.append(time.monotonic())
        if frame["type"] in ("snapshot", "tick"):
            self.last = frame
            bar = frame["bar"]
            self.shown.append((time.monotonic(), bar["fresh"] + bar["cached"] + bar["failed"]))
        if frame["type"] == "end":
            self.ended_at = time.monotonic()

    def lag(self, moment: float, done: int) -> float:
        """How long it showed less than was stored at a moment, unless it said to be cut off."""
        came = next((at for at, shown in self.shown if at >= moment and shown >= done), inf)
        since = max((at for at in self.connected if at <= moment), default=inf)
        is_silent = since < inf and not any(since <= cut <= came for cut in self.cut)
        return came - moment if is_silent else 0.0


class Audience:
    """Looks on from a thread of its own while the block lasts."""

    def __init__(self, act: Act, count: int, *, reads_every: float = 0.0) -> None:
        site = act.site
        self.viewers = [Viewer() for _ in range(count)]
        self._act = act
        self._url = f"{site.url}/ws/runs/{act.run}/"
        self._cookies = [
            site.person.ask("session", name=f"reader {first}")
            for first in range(0, count, PAGES_OF_A_PERSON)
        ]
        self._stored: list[tuple[float, int]] = []  # moments, trials done, by the database
        self._is_over = threading.Event()
        self._random = act.stage.random
        self._reads_every = reads_every
        self._late: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="audience", daemon=True)
        self._thread.start()
        self._sampler = threading.Thread(target=self._sample, name="samples", daemon=True)
        self._sampler.start()

    def _sample(self) -> None:
        while not self._is_over.wait(SAMPLE_SECONDS):
            with suppress(sqlite3.Error, psycopg.Error):  # it may be away: nobody knows then
                self._stored.append((time.monotonic(), counted(self._act)))

    def stale_seconds(self) -> float:
        """The longest time for which a connected page showed less than what was stored."""
        changes = [new for old, new in pairwise(self._stored) if new[1] > old[1]]
        return max((viewer.lag(*new) for viewer in self.viewers for new in changes), default=0.0)

    def _run(self) -> None:
        self._main = self._loop.create_task(self._watch_all())
        try:
            self._loop.run_until_complete(self._main)
        except asyncio.CancelledError:
            pass  # closed before the run's end

    async def _watch_all(self) -> None:
        async with AsyncExitStack() as stack:
            people = [await stack.enter_async_context(self._browser(of)) for of in self._cookies]
            pages = enumerate(self.viewers)
            try:
                await asyncio.gather(
                    *(self._watch(people[at // PAGES_OF_A_PERSON], page) for at, page in pages)
                )
            finally:
                await end_tasks(self._late)

    def _browser(self, cookies: dict[str, str]) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(cookies=cookies, headers={"Origin": self._act.site.url})

    async def _watch(self, client: aiohttp.ClientSession, viewer: Viewer) -> None:
        failures = 0
        while not viewer.ended_at:
            try:
                async with client.ws_connect(self._url) as socket:
                    viewer.connected.append(time.monotonic())
                    failures = 0
                    await self._read(socket, viewer)
            except (aiohttp.ClientError, OSError):
                pass  # it is not there at the moment
            viewer.cut.append(time.monotonic())
            failures += 1
            longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**failures)
            await asyncio.sleep(self._random.uniform(0.0, longest))

    async def _read(self, socket: aiohttp.ClientWebSocketResponse, viewer: Viewer) -> None:
        async for message in socket:
            if message.type != aiohttp.WSMsgType.TEXT:
                return
            frame = json.loads(message.data)
            viewer.take(frame)
            if viewer.ended_at:
                return
            if "seq" in frame:
                later = self._loop.create_task(self._acknowledge(socket, frame["seq"]))
                self._late.add(later)
                later.add_done_callback(self._late.discard)

    async def _acknowledge(self, socket: aiohttp.ClientWebSocketResponse, seq: int) -> None:
        """After the time that a slow page takes; the network has brought the frame at once."""
        await asyncio.sleep(self._reads_every)
        with suppress(aiohttp.ClientError, OSError):
            await socket.send_str(json.dumps({"type": "ack", "seq": seq}))

    def has_ended(self) -> bool:
        return all(viewer.ended_at for viewer in self.viewers)

    def check(self) -> None:
        """I9: what every page was told last is what the database says."""
        wait_for(self.has_ended, 60, "I9: the pages know of the end")
        stage = self._act.stage
        state, done, planned = self._act.site.database.rows(
            f"SELECT state, done, planned FROM runs_run WHERE id = {self._act.run}"
        )[0]
        wanted = (state, f"{done:,} of {planned:,} trials")
        pages = [viewer.last for viewer in self.viewers]
        shown = [(page.get("state"), page.get("text", {}).get("progress")) for page in pages]
        wrong = [page for page in shown if page != wanted]
        stage.figure("pages", len(shown))
        stage.figure("stale_seconds", self.stale_seconds(), most=stage.bar(STALE_SECONDS))
        stage.expect(not wrong, f"I9: {len(wrong)} pages differ, such as {wrong[:1]}")

    def __enter__(self) -> Audience:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._sampler.join(10)
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(10)
        self._loop.close()


@pytest.mark.row(
    "39",
    "30 % of the nudges lost, others doubled or late",
    "pages right within 11 s of the end, never stale for more than 15 s",
    on="lossy",
    is_short=True,
)
def test_nudges_are_lost(stage):
    act = stage.launch(SHORT, FULL)
    with Audience(act, 5) as audience:
        act.finish(120)
        ended = time.monotonic()
        wait_for(audience.has_ended, 60, "I9: the pages know of the end")
        late = max(viewer.ended_at for viewer in audience.viewers) - ended
        stage.figure("pages_late_seconds", max(0.0, late), stage.bar(HEARTBEAT_SECONDS + 1))
        audience.check()
    act.check()


@pytest.mark.row(
    "38",
    "kill -9 of the web part with 50 pages open",
    "all live within 35 s; at most 50 connects in any second",
)
def test_the_web_part_is_killed(stage):
    act = stage.launch(SHORT, FULL)
    with Audience(act, 50 if stage.is_full else 10) as audience:
        viewers = audience.viewers
        wait_for(lambda: all(viewer.snapshots for viewer in viewers), 60, "all are connected")
        stage.site.web.kill()
        killed = time.monotonic()
        stage.site.start_again(stage.site.web)
        wait_for(lambda: min(v.snapshots[-1] for v in viewers) > killed, 60, "all are back")
        back = max(viewer.snapshots[-1] for viewer in viewers) - killed
        stage.figure("all_live_seconds", back, most=35)
        moments = sorted(m for viewer in viewers for m in viewer.connected if m > killed)
        stage.figure("connects_in_a_second", busiest(moments, 1.0, [1] * len(moments)), most=50)
        act.finish(120)
        audience.check()
    act.check()


@pytest.mark.row(
    "40",
    "a page that reads one frame in 10 s",
    "one frame waits at most; the web part grows by at most 5 MB",
)
def test_a_page_reads_slowly(stage):
    act = stage.launch(SHORT, FULL)
    with Audience(act, 1) as first:  # has the web part load what every page needs
        wait_for(lambda: first.viewers[0].snapshots, 30, "the first page")
    before, began = memory_mb(stage.site.web.pid), time.monotonic()
    with Audience(act, 1, reads_every=READ_SECONDS) as audience:
        act.finish(120)
        growth = memory_mb(stage.site.web.pid) - before
        # One frame may wait, no more: hello, snapshot and end, and one for each that was read.
        most = 3 + (time.monotonic() - began) // READ_SECONDS
        stage.figure("frames_sent", audience.viewers[0].frames, most)
    stage.figure("growth_mb", growth, most=5)
    act.check()


@pytest.mark.row(
    "8",
    "web and workers restarted in turn, five times",
    "at most 1 % server errors, 0 wasted calls",
)
def test_everything_is_restarted_in_turn(stage):
    site = stage.site
    act = stage.launch(SHORT, FULL._replace(trials=2997))
    codes: Counter[int] = Counter()
    stop = threading.Event()
    visitor = threading.Thread(target=visit, args=(act, codes, stop), daemon=True)
    visitor.start()
    with Audience(act, 5) as audience:
        for _ in range(5 if stage.is_full else 1):
            for worker in site.workers:
                worker.signal(signal.SIGTERM)
                worker.wait(WORKER_GRACE_SECONDS)
                site.start_again(worker)
            stop_web(site.web)
            site.start_again(site.web)
        act.finish(180)
        stop.set()
        visitor.join(10)
        audience.check()
    bad = sum(count for code, count in codes.items() if code >= 500)
    stage.figure("pages_loaded", codes[200])
    stage.figure("server_errors_share", bad / max(1, codes.total()), most=0.01)
    act.check(wasted=0)


def stop_web(web):
    """As `serve` does: SIGTERM, and SIGKILL if pages that are open keep it from ending."""
    web.signal(signal.SIGTERM)
    try:
        web.wait(WEB_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        web.kill()


def visit(act, codes, stop):
    """Load the run's page again and again; while nobody answers, that is no answer."""
    while not stop.wait(0.1):
        try:
            codes[act.site.visitor.load(f"/runs/{act.run}/").status] += 1
        except (OSError, HTTPException):
            codes[0] += 1
