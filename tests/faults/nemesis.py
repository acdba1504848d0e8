"""Does the harm. Acts only on processes of the cluster it was given; every choice is seeded."""

from __future__ import annotations

import resource
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import redis

from evalsite.embedded.parts import answers_ready
from evalsite.embedded.redis_server import wait_until_answering
from tests.faults.cluster import Cluster, wait_until
from tests.faults.processes import Process

BLOCK_BYTES = 64 * 1024
WRITING_SECONDS = 0.05  # in which one that was met in the middle of a write may end it


class Nemesis:
    def __init__(self, cluster: Cluster, random: Random) -> None:
        self.cluster = cluster
        self._random = random

    def busy_worker(self) -> Process:
        """One that holds a lease: nothing is lost with an idle one."""
        found: list[Process] = []

        def is_found() -> bool:
            found[:] = [worker for worker in self.cluster.workers if self.leases_of(worker)]
            return bool(found)

        wait_until(is_found, 20, "a worker holds a lease")
        return self._random.choice(found)

    def leases_of(self, worker: Process) -> int:
        owned = f"state = 'leased' AND owner LIKE '%:{worker.pid}:%'"
        return self.cluster.truth.count("runs_chunk", owned)

    def kill(self, part: Process) -> float:
        """kill -9; the moment of it."""
        part.kill()
        return time.monotonic()

    def freeze(self, part: Process) -> float:
        """Not in the middle of a write to SQLite: that has one lock for all, so that nobody could
        go on until the frozen one does."""
        stop(part)
        while not self.cluster.truth.can_be_written():
            part.signal(signal.SIGCONT)
            time.sleep(WRITING_SECONDS)
            stop(part)
        return time.monotonic()

    def thaw(self, part: Process) -> None:
        part.signal(signal.SIGCONT)

    def term(self, part: Process) -> None:
        part.signal(signal.SIGTERM)

    def starve(self, part: Process) -> None:
        """It may have less memory than it has: the next allocation of any size fails."""
        held = int(Path(f"/proc/{part.pid}/statm").read_text().split()[5])  # data and stacks
        size = held * resource.getpagesize() // 2
        resource.prlimit(part.pid, resource.RLIMIT_DATA, (size, size))

    def empty_redis(self) -> None:
        redis.Redis.from_url(self.cluster.env["REDIS_URL"]).flushall()

    def start_redis(self) -> None:
        self.cluster.redis.start_again()
        wait_until_answering(self.cluster.env["REDIS_URL"])

    def crash_postgres(self) -> None:
        """As `pg_ctl stop -m immediate`: no clean-up, every session is cut."""
        assert self.cluster.postgres is not None
        self.cluster.postgres.halt(signal.SIGQUIT)

    def start_postgres(self) -> None:
        assert self.cluster.postgres is not None
        self.cluster.postgres.launch()

    def fill_storage(self) -> None:
        """To the last byte."""
        with self._ballast.open("wb", buffering=0) as ballast:
            for size in (BLOCK_BYTES, 1):
                with suppress(OSError):
                    while ballast.write(bytes(size)):
                        pass

    def free_storage(self) -> None:
        self._ballast.unlink()

    @property
    def _ballast(self) -> Path:
        return self.cluster.folder / "ballast"

    def start_web(self) -> None:
        self.cluster.web.start_again()
        wait_until(lambda: answers_ready(self.cluster.site), 60, "the web part answers")


def stop(part: Process) -> None:
    """Until no thread of it goes on: one could begin a write after the lock was looked at."""
    part.signal(signal.SIGSTOP)
    wait_until(lambda: states_of_threads(part.pid) <= {"T"}, 20, "it stands still")


def states_of_threads(pid: int) -> set[str]:
    """As ps tells them, by letters."""
    found = set()
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # the thread has ended meanwhile
            found.add(path.read_text().rpartition(")")[2].split()[0])
    return found
