"""The control door of the simulated provider: how it behaves, and its account of every call."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from tests.harness.patience import PATIENCE_SECONDS


class Simulator:
    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self.secret = secret

    def answer_in(self, milliseconds: float) -> None:
        """From the next call on."""
        self._send("PUT", "settings", {"latency_ms": milliseconds})

    def hold(self, after: int) -> None:
        """Lets go what waits, and so many calls more; a run that needs others waits."""
        self._send("PUT", "settings", {"hold_after": after})

    def let_go(self) -> None:
        """What waits is answered now, and what comes at once."""
        self._send("PUT", "settings", {"hold_after": None, "latency_ms": 1})

    def follow(self, script: list[dict[str, Any]]) -> None:
        self._send("POST", "script", script)

    def ledger(self) -> dict[str, Any]:
        return self._send("GET", "ledger")

    def _send(self, method: str, name: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        address, headers = f"{self.url}/control/{name}", {"Authorization": f"Bearer {self.secret}"}
        request = urllib.request.Request(address, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
