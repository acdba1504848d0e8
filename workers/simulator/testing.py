"""Starts a simulated provider inside a test's process, and talks to any running one.

    with running_simulator(latency_ms=0) as simulator:
        call(simulator.url)
        assert simulator.ledger()["peak_in_flight"] <= 5

It shares this process's interpreter; for a load test start the `simulate` command instead, which
is also what `serve` does.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_urlsafe
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import uvloop

from workers.simulator.server import SimulatorServer, allow_many_connections
from workers.simulator.settings import Settings

CONTROL_TIMEOUT_SECONDS = 120.0  # only a hang takes so long, also where ten processes share a core


class SimulatorClient:
    """The control API of a simulated provider at a URL."""

    def __init__(self, url: str, secret: str) -> None:
        self.url = url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {secret}"}
        self._opener = build_opener(ProxyHandler({}))  # never through a proxy of the machine

    def ledger(self) -> dict[str, Any]:
        """Totals, peaks, windows and duplicates."""
        return self._call("GET", "/control/ledger")

    def requests(self, after: int = -1, limit: int = 1000) -> list[dict[str, Any]]:
        """Rows of the ledger with numbers above `after`."""
        answer = self._call("GET", f"/control/ledger/requests?after={after}&limit={limit}")
        rows: list[dict[str, Any]] = answer["requests"]
        return rows

    def reset(self) -> None:
        self._call("POST", "/control/reset")

    def change(self, **settings: object) -> dict[str, Any]:
        return self._call("PUT", "/control/settings", settings)

    def play(self, *entries: dict[str, Any]) -> None:
        """Replaces the script of faults."""
        self._call("POST", "/control/script", list(entries))

    def _call(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.url}{path}", data=data, method=method, headers=self.headers)
        with self._opener.open(request, timeout=CONTROL_TIMEOUT_SECONDS) as response:
            answer: dict[str, Any] = json.load(response)
        return answer


@contextmanager
def running_simulator(
    *, host: str = "127.0.0.1", port: int = 0, **settings: Any
) -> Iterator[SimulatorClient]:
    """A simulated provider in a thread of this process, on a free port unless one is named."""
    allow_many_connections()
    secret = token_urlsafe()
    server = SimulatorServer(Settings(**settings), host, port, secret)
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="simulator", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield SimulatorClient(server.url, secret)
    finally:
        asyncio.run_coroutine_threadsafe(_stop(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _stop(server: SimulatorServer) -> None:
    server.stop()
    await asyncio.sleep(0)  # lets the aborted connections write their ends
