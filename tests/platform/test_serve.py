"""The whole site by one command: it comes up, heals, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.platform.processes import BASE_DIR, is_running, wait_until_gone

pytestmark = pytest.mark.late

READY = re.compile(r"evalsite is ready: (http://127\.0\.0\.1:\d+)/")
SETUP = re.compile(r"http://127\.0\.0\.1:\d+(/setup/\S+)")


class Serve:
    """`manage.py serve` with a Redis of its own, and what it prints."""

    def __init__(self, data: Path) -> None:
        given = ("REDIS_URL", "DATABASE_URL", "EVALSITE_DATA", "EVALSITE_ORIGINS")
        env = {name: value for name, value in os.environ.items() if name not in given}
        ports = ["--port", "0", "--simulator-port", "0"]
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", *ports, "--data", str(data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=BASE_DIR,
            env=env,
        )
        self.text = ""
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._more:
                self.text += line
                self._more.notify_all()

    def wait_for(self, pattern: str | re.Pattern[str], within_seconds: float = 60.0) -> str:
        with self._more:
            found = self._more.wait_for(lambda: re.search(pattern, self.text), within_seconds)
        assert found, f"No {pattern!r} in what it printed:\n{self.text}"
        return found.group(found.lastindex or 0)

    def wait_until_ready(self) -> str:
        return self.wait_for(READY)

    def children(self) -> dict[int, str]:
        """What each of its processes does, by pid."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = [int(pid) for pid in path.read_text().split()]
        return {pid: what_it_does(pid) for pid in pids if is_running(pid)}

    def web(self) -> int:
        return next(pid for pid, task in self.children().items() if task == "web")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(60)
        self._reader.join(10)
        return code


def what_it_does(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    known = {"daphne": "web", "simulate": "simulator", "work": "worker"}
    return next((known[word] for word in words if word in known), "redis")


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[[], Serve]]:
    started: list[Serve] = []

    def start() -> Serve:
        started.append(Serve(tmp_path / "data"))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


def get(url: str) -> tuple[int, str]:
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.status, response.url


def test_it_comes_up_heals_and_stops_without_a_trace(serve):
    site = serve()
    url = site.wait_until_ready()
    assert get(f"{url}/readyz")[0] == 200

    setup = site.wait_for(SETUP)
    assert get(f"{url}{setup}")[0] == 200, "the first person gets a link, not a password"

    tasks = sorted(site.children().values())
    assert tasks == ["redis", "simulator", "web", "worker", "worker"]
    first = site.web()
    os.kill(first, signal.SIGKILL)
    site.wait_for(r"web +\| was ended by SIGKILL; starting it again")
    wait_until_answering(url)
    assert site.web() != first

    pids = list(site.children())
    assert site.stop() == 0
    assert not [pid for pid in pids if is_running(pid)]


def test_kill_9_leaves_nothing_and_the_next_start_works(serve):
    site = serve()
    site.wait_until_ready()
    pids = list(site.children())
    site.process.kill()
    wait_until_gone(*pids)
    again = serve()
    again.wait_until_ready()
    assert again.stop() == 0


def test_a_second_one_in_the_same_folder_is_turned_away(serve):
    serve().wait_until_ready()
    second = serve()
    assert second.process.wait(60) == 2
    second.wait_for(r"is in use by another `serve` \(process \d+\)")


def wait_until_answering(url: str, within_seconds: float = 30.0) -> None:
    deadline = time.monotonic() + within_seconds
    while True:
        try:
            get(f"{url}/readyz")
            return
        except OSError:
            assert time.monotonic() < deadline, "the web did not come back"
            time.sleep(0.05)
