"""People who look at a run's page: real websockets that answer frames and come back when cut."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any

import aiohttp
import psycopg

from tests.faults.stage import Act, wait_for
from workers.engine.ending_tasks import end_tasks

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
