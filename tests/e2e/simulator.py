"""The control door of the simulated provider: how it behaves, and its account of every call."""

from __future__ import annotations

import json
import urllib.request
from typing import Any


class Simulator:
    def __init__(self, url: str, secret: str) -> None:
        self.url = url
        self.secret = secret

    def answer_in(self, milliseconds: float) -> None:
        """From the next call on."""
        self._send("PUT", "settings", {"latency_ms": milliseconds})

    def follow(self, script: list[dict[str, Any]]) -> None:
        self._send("POST", "script", script)

    def ledger(self) -> dict[str, Any]:
        return self._send("GET", "ledger")

    def _send(self, method: str, name: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        address, headers = f"{self.url}/control/{name}", {"Authorization": f"Bearer {self.secret}"}
        request = urllib.request.Request(address, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=10) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
