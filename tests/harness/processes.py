"""Processes as the kernel shows them: what is running, what started what, what memory it holds.

Tests start one with `LoggedProcess` (evalsite.embedded.loose_parts), which writes into a log of its
own, waits for a line there, is signalled and killed, and dies with the tests.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from contextlib import suppress
from pathlib import Path

from tests.harness.patience import wait_until

TASKS = {"evalsite.web": "web", "simulate": "simulator", "work": "worker"}


def is_running(pid: int) -> bool:
    """Zombies do not count: they have ended, nobody asked for their exit code yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended while we read
        return False
    return state not in "ZX"


def end_with_the_tests() -> None:
    """In a thread of a process of theirs. Also when they are killed: nobody would stop it then."""
    tests = multiprocessing.parent_process()
    assert tests is not None
    tests.join()
    os._exit(1)


def wait_until_gone(*pids: int) -> None:
    """Kernel and strangers tell us nothing, so look."""
    wait_until(lambda: not any(map(is_running, pids)))


def children_of(pid: int) -> dict[int, str]:
    """The running processes that it started, and what each does for a site."""
    pids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {child: task_of(child) for child in map(int, pids) if is_running(child)}


def task_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except FileNotFoundError:
        return "ended"  # meanwhile
    return next((TASKS[word] for word in words if word in TASKS), "redis")


def states_of_threads(pid: int) -> set[str]:
    """As ps tells them, by letters."""
    found = set()
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # the thread has ended meanwhile
            found.add(path.read_text().rpartition(")")[2].split()[0])
    return found


def memory_mb(pid: int, figure: str = "VmRSS") -> float:
    """What it holds of the machine's memory; VmHWM: the most it ever held."""
    found = re.search(rf"{figure}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def forget_peak_memory(pid: int) -> float:
    """Have the most that it ever held counted from now on, from what it holds."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return memory_mb(pid)
