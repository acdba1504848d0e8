"""The site as a person starts it: `manage.py serve` in a process of its own, and its parts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tests.harness.patience import PATIENCE_SECONDS
from tests.platform.processes import BASE_DIR, is_running

READY = re.compile(r"evalsite is ready: (http://127\.0\.0\.1:\d+)/")
SETUP = re.compile(r"(http://127\.0\.0\.1:\d+/setup/\S+)")
GIVEN_BY_THE_TESTS = ("REDIS_URL", "DATABASE_URL", "EVALSITE_DATA", "EVALSITE_ORIGINS")
SIMULATOR_SECRET = "known to the tests, which ask its ledger"


class Serve:
    """`serve` with a Redis of its own, and what it prints."""

    def __init__(self, data: Path, **variables: str) -> None:
        env = {name: value for name, value in os.environ.items() if name not in GIVEN_BY_THE_TESTS}
        env |= {"EVALSITE_SIMULATOR_SECRET": SIMULATOR_SECRET, **variables}
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
        self._has_ended = False
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._more:
                self.text += line
                self._more.notify_all()
        with self._more:
            self._has_ended = True
            self._more.notify_all()

    def wait_for(self, pattern: str | re.Pattern[str]) -> str:
        """What the pattern's group found in what was printed."""
        with self._more:
            self._more.wait_for(
                lambda: self._has_ended or re.search(pattern, self.text), PATIENCE_SECONDS
            )
            found = re.search(pattern, self.text)
        assert found, f"No {pattern!r} in what it printed:\n{self.text}"
        return found.group(found.lastindex or 0)

    def wait_until_ready(self) -> str:
        """Its address."""
        return self.wait_for(READY)

    def children(self) -> dict[int, str]:
        """What each of its processes does, by pid."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = [int(pid) for pid in path.read_text().split()]
        return {pid: what_it_does(pid) for pid in pids if is_running(pid)}

    def web(self) -> int:
        return next(pid for pid, task in self.children().items() if task == "web")

    def kill_web(self) -> float:
        """Kill Daphne; the time of it."""
        pid, at = self.web(), time.time()
        os.kill(pid, signal.SIGKILL)
        return at

    def stop(self) -> int:
        """As Ctrl-C does; its exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        return code

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def what_it_does(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except FileNotFoundError:
        return "ended"  # meanwhile
    known = {"evalsite.web": "web", "simulate": "simulator", "work": "worker"}
    return next((known[word] for word in words if word in known), "redis")


def time_of_first_answer(url: str, is_alive: Callable[[], bool] = lambda: True) -> float:
    """When the web part said for the first time that it is ready; it tells nobody, so ask."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=PATIENCE_SECONDS / 4).close()
            return time.time()
        except OSError as error:
            if time.monotonic() > deadline or not is_alive():
                raise AssertionError("The web part does not answer, or has ended.") from error
            time.sleep(0.02)
