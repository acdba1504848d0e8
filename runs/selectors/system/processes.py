"""The processes of the installation: workers by their beats, and the web process that answers."""

import os
import resource
import socket
import time
from datetime import UTC, datetime
from typing import NamedTuple

from django.conf import settings
from django.db.models import Count

from runs.code_version import code_version
from runs.models import Chunk, ChunkState
from runs.selectors.worker_beats import Beat, read_workers

STARTED = time.time()


class Process(NamedTuple):
    part: str  # worker or web
    host: str
    pid: str
    version: str
    started: datetime | None
    peak_megabytes: int | None
    leases: int | None = None  # chunks in its hands, by the database
    silent_seconds: float | None = None
    is_old: bool = False  # another version than the page's


class Processes(NamedTuple):
    rows: list[Process]
    expected: int  # workers, by EVALSITE_WORKERS
    are_known: bool  # False while Redis is away

    @property
    def workers(self) -> int:
        return sum(row.part == "worker" for row in self.rows)


def read_processes() -> Processes:
    beats = read_workers()
    leased = Chunk.objects.filter(state=ChunkState.LEASED).order_by()
    leases = dict(leased.values_list("owner").annotate(n=Count("pk")))
    workers = [worker_of(beat, leases.get(beat.name, 0)) for beat in beats or []]
    return Processes([this_process(), *workers], settings.WORKERS, beats is not None)


def worker_of(beat: Beat, leases: int) -> Process:
    host, _, rest = beat.name.partition(":")
    version, started = beat.facts.get("version", ""), beat.facts.get("started")
    return Process(
        part="worker",
        host=host,
        pid=rest.partition(":")[0],
        version=version,
        started=datetime.fromtimestamp(started, UTC) if started else None,
        peak_megabytes=beat.facts.get("peak_megabytes"),
        leases=leases,
        silent_seconds=beat.seconds_ago,
        is_old=bool(version) and version != code_version(),
    )


def this_process() -> Process:
    return Process(
        part="web, which answered this page",
        host=socket.gethostname(),
        pid=str(os.getpid()),
        version=code_version(),
        started=datetime.fromtimestamp(STARTED, UTC),
        peak_megabytes=peak_megabytes(),
    )


def peak_megabytes() -> int:
    """The most memory this process ever had; Linux counts it in kilobytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
