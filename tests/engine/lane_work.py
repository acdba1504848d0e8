"""Work for the process lane. Children import it, so it imports little."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn


class Riddle(Exception):
    """Breaks whoever asks for its message, or unpickles it."""

    def __init__(self, first: object, second: object) -> None:
        super().__init__(first)

    def __str__(self) -> str:
        raise RuntimeError("no message")


class Unreadable:
    """Can be pickled; fails when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[object, ...]]:
        return fail, ("out of its box",)


def fail(message: str) -> NoReturn:
    raise ValueError(message)


def fail_in_a_riddle() -> NoReturn:
    raise Riddle(1, 2)


def chatter() -> tuple[str, str]:
    """Everything that could get onto the pipes: what it reads, then its result."""
    print("printed")
    os.write(1, b"written\n")
    subprocess.run(["echo", "echoed"], check=True)
    return sys.stdin.read(), "quiet"


def meet(fifo: str, mode: str) -> int:
    """Its pid, once another process opens the other end."""
    with open(fifo, mode):
        return os.getpid()


def leave_a_copy_and_die() -> None:
    if os.fork() == 0:
        time.sleep(600)  # until it is killed
    os._exit(3)


def orphan_myself(keeps_the_lock: bool) -> None:
    """Say its pid and kill its parent. Then sleep, and maybe let no thread have a turn."""
    print(os.getpid())
    os.kill(os.getppid(), signal.SIGKILL)
    if keeps_the_lock:
        ctypes.PyDLL(None).sleep(3600)
    time.sleep(600)  # until it is killed


def judge_or_hang(expected: int, given: int) -> float:
    """For ever, of one answer."""
    while expected == 1:
        time.sleep(600)  # until it is killed
    return float(given == 2 * expected)


def retire_with(result: int) -> int:
    """The last piece of its process."""
    from workers.engine.lanes import child_program  # others are not to wait for it

    child_program.retire()
    return result


class Episode(NamedTuple):
    value: float
    record: dict[str, Any]


def replay_episode(question: str, answer: str) -> Episode:
    """As the toy kind does it."""
    steps = [{"asked": question, "answered": answer}]
    return Episode(0.5, {"steps": steps, "process": os.getpid()})
