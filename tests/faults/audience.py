"""People who look at a run's page: real websockets that answer frames and come back when cut."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

import aiohttp

from tests.faults.cluster import Cluster

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 5.0


@dataclass
class Viewer:
    """What one page was told, and when."""

    connected: list[float] = field(default_factory=list)
    snapshots: list[float] = field(default_factory=list)
    frames: int = 0
    last: dict[str, Any] = field(default_factory=dict)
    ended_at: float = 0.0

    def take(self, frame: dict[str, Any]) -> None:
        self.frames += 1
        if frame["type"] == "snapshot":
            self.snapshots.append(time.monotonic())
        if frame["type"] in ("snapshot", "tick"):
            self.last = frame
        if frame["type"] == "end":
            self.ended_at = time.monotonic()


class Audience:
    """Looks on from a thread of its own until `close`."""

    def __init__(
        self, cluster: Cluster, run: int, count: int, random: Random, *, reads_every: float = 0.0
    ) -> None:
        self.viewers = [Viewer() for _ in range(count)]
        self._url = f"{cluster.site}/ws/runs/{run}/"
        self._origin = cluster.site
        self._cookies = cluster.person.ask("session")
        self._random = random
        self._reads_every = reads_every
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="audience", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._main = self._loop.create_task(self._watch_all())
        try:
            self._loop.run_until_complete(self._main)
        except asyncio.CancelledError:
            pass  # closed before the run's end

    async def _watch_all(self) -> None:
        headers = {"Origin": self._origin}
        async with aiohttp.ClientSession(cookies=self._cookies, headers=headers) as client:
            await asyncio.gather(*(self._watch(client, viewer) for viewer in self.viewers))

    async def _watch(self, client: aiohttp.ClientSession, viewer: Viewer) -> None:
        pause = FIRST_PAUSE_SECONDS
        while not viewer.ended_at:
            try:
                async with client.ws_connect(self._url) as socket:
                    viewer.connected.append(time.monotonic())
                    pause = FIRST_PAUSE_SECONDS
                    await self._read(socket, viewer)
            except (aiohttp.ClientError, OSError):
                pass  # it is not there at the moment
            await asyncio.sleep(self._random.uniform(0.2, 1.0) * pause)
            pause = min(LONGEST_PAUSE_SECONDS, 2 * pause)

    async def _read(self, socket: aiohttp.ClientWebSocketResponse, viewer: Viewer) -> None:
        async for message in socket:
            if message.type != aiohttp.WSMsgType.TEXT:
                return
            frame = json.loads(message.data)
            viewer.take(frame)
            if viewer.ended_at:
                return
            await asyncio.sleep(self._reads_every)
            if "seq" in frame:
                await socket.send_str(json.dumps({"type": "ack", "seq": frame["seq"]}))

    def has_ended(self) -> bool:
        return all(viewer.ended_at for viewer in self.viewers)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join(10)
        self._loop.close()
