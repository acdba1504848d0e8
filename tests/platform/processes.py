"""Small programs that the supervisor tests start, and eyes for what is still running."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness.patience import PATIENCE_SECONDS

BASE_DIR = Path(__file__).resolve().parents[2]

# Supervises the parts of argv[2:], each "name=program", until it is told to stop; then each has the
# seconds of argv[1]. The part called broken never gets ready.
SUPERVISING = """
import asyncio, os, sys
from evalsite.embedded.supervisor import Part, Supervisor
from tests.harness.patience import PATIENCE_SECONDS

def part(index, text):
    name, _, program = text.partition("=")
    argv = [sys.executable, "-c", program]
    is_ready = (lambda: False) if name == "broken" else None
    seconds = float(sys.argv[1]), PATIENCE_SECONDS
    return Part(name, index, argv, dict(os.environ), is_ready, *seconds)

async def main():
    parts = [part(index, text) for index, text in enumerate(sys.argv[2:])]
    await Supervisor(parts).run(when_ready=lambda: print("ready", flush=True))

asyncio.run(main())
"""

# Says its pid, then waits for a signal.
WAITS = "import os, signal; print('pid', os.getpid(), flush=True); signal.pause()"
# Hears SIGTERM and does not care.
STUBBORN = (
    "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('pid', os.getpid(), flush=True)\nwhile True: signal.pause()"
)
# Starts a child of its own, in the same group.
HAS_A_CHILD = (
    "import signal, subprocess, sys;"
    " child = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()']);"
    " print('pid', child.pid, flush=True); signal.pause()"
)


class Supervised:
    """A supervisor in a process of its own, and the lines it prints."""

    def __init__(self, *parts: str, grace_seconds: float = PATIENCE_SECONDS) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISING, str(grace_seconds), *parts],
            stdout=subprocess.PIPE,
            text=True,
            cwd=BASE_DIR,
        )
        self.lines: list[str] = []
        self._unclaimed: list[str] = []

    def read_until(self, wanted: Callable[[str], bool]) -> str:
        """A line that is wanted, each only once: parts speak in whatever order they please."""
        for line in self._unclaimed:
            if wanted(line):
                self._unclaimed.remove(line)
                return line
        assert self.process.stdout is not None
        for text in self.process.stdout:
            line = text.rstrip("\n")
            self.lines.append(line)
            if wanted(line):
                return line
            self._unclaimed.append(line)
        raise AssertionError(f"The supervisor ended without that line: {self.lines}")

    def pid_of(self, name: str) -> int:
        line = self.read_until(lambda line: line.startswith(name) and "| pid " in line)
        return int(line.rpartition(" ")[2])

    def read_rest(self) -> list[str]:
        assert self.process.stdout is not None
        self.lines += self.process.stdout.read().splitlines()
        return self.lines

    def __enter__(self) -> Supervised:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()


def is_running(pid: int) -> bool:
    """Zombies do not count: they have ended, nobody asked for their exit code yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended while we read
        return _answers_signals(pid) if sys.platform != "linux" else False
    return state not in "ZX"


def _answers_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(*pids: int) -> None:
    """Kernel and strangers tell us nothing, so look."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left := [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.01)


def listening_socket() -> socket.socket:
    """A port that somebody has taken."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.listen()
    return listener
