"""One process of a cluster under test: started here, and the only kind the nemesis may touch."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalsite.embedded.child_processes import die_with_parent, signal_group
from evalsite.env import BASE_DIR
from tests.harness.patience import PATIENCE_SECONDS

READY_SECONDS = PATIENCE_SECONDS
LAST_LINES = 20
POLL_SECONDS = 0.02


class PartFailed(Exception):
    """A part did not come up, or ended before its time. Says what the part itself said."""


class Process:
    """Writes into a log of its own, leads its own group, and dies with this process."""

    def __init__(
        self, name: str, argv: Sequence[str], env: Mapping[str, str], folder: Path, ready: str = ""
    ) -> None:
        self.name = name
        self.argv = list(argv)
        self.env = dict(env)
        self.log = folder / f"{name.replace(' ', '_')}.log"
        self._ready = ready
        self._from = 0  # where this life's lines begin in the log
        self.popen = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as output:
            self._from = output.tell()
            return subprocess.Popen(
                self.argv,
                env=self.env,
                cwd=BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent(),  # noqa: PLW1509  # it only makes two system calls
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def is_alive(self) -> bool:
        return self.popen.poll() is None

    def wait_ready(self) -> str:
        """What the readiness pattern found in its lines."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            if found := re.search(self._ready, self.words()):
                return found[found.lastindex or 0]
            if not self.is_alive or time.monotonic() > deadline:
                raise PartFailed(self.explain())
            time.sleep(POLL_SECONDS)

    def words(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._from)
            return log.read().decode(errors="replace")

    def explain(self) -> str:
        lines = self.words().splitlines()[-LAST_LINES:]
        return "\n".join([f"{self.name} (exit code {self.popen.poll()}) said:", *lines])

    def signal(self, number: signal.Signals) -> None:
        if self.is_alive:
            os.kill(self.pid, number)

    def kill(self) -> None:
        signal_group(self.pid, signal.SIGKILL)  # also what it started itself
        self.popen.wait()

    def wait(self, seconds: float) -> float:
        """Until it has ended; how long that took."""
        began = time.monotonic()
        self.popen.wait(timeout=seconds)
        return time.monotonic() - began

    def start_again(self) -> None:
        if self.is_alive:
            self.kill()
        self.popen = self._start()

    def memory_mb(self) -> float:
        """What it holds of the machine's memory."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0

    def forget_peak(self) -> float:
        """Have the most that it ever held counted from now on, from what it holds."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        return self.memory_mb()

    def peak_memory_mb(self) -> float:
        """The most it ever held."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0
