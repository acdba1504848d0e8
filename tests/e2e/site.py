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
from pathlib import Path

from tests.e2e.database import Database
from tests.e2e.simulator import Simulator
from tests.platform.processes import BASE_DIR, wait_until_gone

READY = re.compile(r"evalsite is ready: (http://127\.0\.0\.1:\d+)/")
SETUP = re.compile(r"(http://127\.0\.0\.1:\d+/setup/\S+)")
SIMULATOR = re.compile(r"Simulated provider listens on (http://127\.0\.0\.1:\d+)")
GIVEN_BY_THE_TESTS = ("REDIS_URL", "DATABASE_URL", "EVALSITE_DATA", "EVALSITE_ORIGINS")
STOP_SECONDS = 40.0  # a worker may take 30 s to have its calls in flight answered


class Site:
    """Starts at once; `url`, `setup_link`, `simulator` and `database` are there when it returns."""

    def __init__(self, data: Path) -> None:
        env = {name: value for name, value in os.environ.items() if name not in GIVEN_BY_THE_TESTS}
        ports = ["--port", "0", "--simulator-port", "0"]
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "serve", *ports, "--data", str(data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=BASE_DIR,
            env=env,
        )
        self._printed = ""
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.url = self._wait_for(READY)
            self.setup_link = self._wait_for(SETUP)
            self.simulator = Simulator(self._wait_for(SIMULATOR))
            self.database = Database(data / "evalsite.sqlite3")
        except BaseException:
            self._process.kill()
            raise

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._more:
                self._printed += line
                self._more.notify_all()

    def _wait_for(self, pattern: re.Pattern[str], within_seconds: float = 60.0) -> str:
        with self._more:
            found = self._more.wait_for(lambda: pattern.search(self._printed), within_seconds)
        assert found, f"No {pattern.pattern!r} in what it printed:\n{self._printed}"
        return found.group(1)

    def web_pid(self) -> int:
        """Daphne's, among the children of `serve`."""
        pids = [pid for pid in self._children() if "daphne" in words_of(pid)]
        assert len(pids) == 1, f"not one web part but {pids}"
        return pids[0]

    def kill_web(self) -> float:
        """Kill Daphne; the time of it."""
        os.kill(self.web_pid(), signal.SIGKILL)
        return time.time()

    def hold_supervisor(self) -> None:
        """Nothing is started again until it may go on."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def let_supervisor_go_on(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """As Ctrl-C does; fails if a process is left."""
        self.let_supervisor_go_on()  # a test that failed may have left it held
        pids = self._children()
        self._process.send_signal(signal.SIGINT)
        try:
            code = self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        wait_until_gone(*pids)
        assert code == 0, f"serve ended with {code}:\n{self._printed}"

    def _children(self) -> list[int]:
        pid = self._process.pid
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]


def words_of(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except FileNotFoundError:
        return []  # ended meanwhile


def time_of_first_answer(url: str, within_seconds: float = 30.0) -> float:
    """When the web part said for the first time that it is ready; it tells nobody, so ask."""
    deadline = time.monotonic() + within_seconds
    while True:
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=2).close()
            return time.time()
        except OSError:
            assert time.monotonic() < deadline, "the web part did not come back"
            time.sleep(0.02)
