"""A site that a script starts for itself, in a folder of its own, and fills through the API."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 90
STOP_SECONDS = 30
QUESTION = {"question": "What is 2 + 3?", "expected": "5"}
DOCUMENT = {
    "name": "sums",
    "kind": "evaluate",
    "dataset": "sums",
    "prompts": [{"name": "plain", "user": "{{question}}"}],
    "models": ["simulated/sim-small"],
    "scorers": ["exact"],
}


class OwnSite:
    """A site that nobody else uses, with something of everything in it."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self.folder = tempfile.mkdtemp(prefix="evalsite-own-")
        self.url = f"http://127.0.0.1:{free_port()}"
        self.environ = {
            **os.environ,
            "EVALSITE_DATA": self.folder,
            "EVALSITE_ORIGINS": self.url,
            "EVALSITE_API_REQUESTS_PER_MINUTE": "1000000",
            "EVALSITE_LIVE_RUNS": "10000",
        }

    def __enter__(self) -> OwnSite:
        port = self.url.rpartition(":")[2]
        self.log = (Path(self.folder) / "serve.log").open("w")
        options = ["--port", port, "--workers", str(self.workers), "--simulator-port", "0"]
        command = [sys.executable, "manage.py", "serve", *options]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=self.environ, stdout=self.log, stderr=self.log
        )
        self.wait_until_ready()
        self.token = self.make_token()
        self.fill()
        return self

    def __exit__(self, *args: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wait_until_ready(self) -> None:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5):
                    return
            except OSError:
                time.sleep(0.2)
        sys.exit(f"The site did not start:\n{(Path(self.folder) / 'serve.log').read_text()}")

    def make_token(self) -> str:
        command = [sys.executable, "manage.py", "create_token", "own"]
        return subprocess.check_output(command, cwd=ROOT, env=self.environ, text=True).strip()

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

    def ask(self, method: str, path: str, data: bytes | None = None, **headers: str) -> Any:
        named = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        address = f"{self.url}/api/v1{path}"
        request = urllib.request.Request(address, data, named, method=method)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
