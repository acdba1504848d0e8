"""A site that a script starts for itself, in a folder of its own, and fills through the API."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from tests.harness.site import ServedSite

QUESTION = {"question": "What is 2 + 3?", "expected": "5"}
DOCUMENT = {
    "name": "sums",
    "kind": "evaluate",
    "dataset": "sums",
    "prompts": [{"name": "plain", "user": "{{question}}"}],
    "models": ["simulated/sim-small"],
    "scorers": ["exact"],
}
NO_LIMITS: dict[str, Any] = {
    "EVALSITE_API_REQUESTS_PER_MINUTE": "1000000",
    "EVALSITE_LIVE_RUNS": "10000",
}


class OwnSite(ServedSite):
    """A site that nobody else uses, with something of everything in it."""

    def __init__(self, workers: int = 1) -> None:
        super().__init__(options=["--workers", str(workers)], **NO_LIMITS)
        self.token = self.manage("create_token", "own").strip()  # it may do everything
        self.fill()

    def fill(self) -> None:
        models = {"models": ["sim-small"], "max_concurrent": 100}
        self.post("/endpoints", {"name": "simulated", "kind": "simulated", **models})
        self.post("/datasets", {"name": "sums", "rows": [QUESTION]})
        self.post("/configurations", DOCUMENT)
        self.post("/runs", {"configuration": "sums"})

    def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        return self.ask("POST", path, json.dumps(body).encode(), **headers)

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def ask(
        self,
        method: str,
        path: str,
        data: bytes | None = None,
        content_type: str = "application/json",
        **headers: str,
    ) -> Any:
        named = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        address = f"{self.url}/api/v1{path}"
        request = urllib.request.Request(address, data, named, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
