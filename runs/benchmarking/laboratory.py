"""The parts of a benchmark: Redis, a simulated provider and workers of its own, all stopped at
the end, in a temporary data folder that the site never sees."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from evalsite.embedded.loose_parts import LoggedProcess, LooseParts, ProcessFailed
from runs.benchmarking.plan import Plan

GRACE_SECONDS = 10.0  # between SIGTERM and SIGKILL; nothing in there is worth waiting longer for
# Of the site, not of the benchmark: it has its own database, Redis and keys.
FOREIGN = ("DATABASE_URL", "REDIS_URL", "EVALSITE_SECRET_KEY", "EVALSITE_ORIGINS")


class LaboratoryFailed(Exception):
    """A part could not be started, or ended too early. Says what the part itself said."""


class Laboratory(NamedTuple):
    """Where everything runs."""

    parts: LooseParts
    workers: list[LoggedProcess]

    @property
    def environment(self) -> dict[str, str]:
        return self.parts.env

    @property
    def worker_pids(self) -> list[int]:
        return [worker.pid for worker in self.workers]


@contextmanager
def running_laboratory(plan: Plan) -> Iterator[Laboratory]:
    """Everything a run needs, ready for the first one, until the block ends, however it ends."""
    with tempfile.TemporaryDirectory(prefix="evalsite-benchmark-") as folder:
        parts = LooseParts(Path(folder), laboratory_environment(plan))
        try:
            yield start_all(parts, plan)
        except ProcessFailed as problem:
            raise LaboratoryFailed(f"The benchmark's {problem}") from problem
        finally:
            parts.stop(GRACE_SECONDS)


def start_all(parts: LooseParts, plan: Plan) -> Laboratory:
    parts.start_redis()
    migration = parts.start_migration()
    parts.start_simulator(*speed(plan))
    migration.wait_for_success()
    parts.wait_for_redis()
    workers = [parts.start_worker(number) for number in range(1, plan.workers + 1)]
    for worker in workers:
        parts.wait_for_worker(worker)
    return Laboratory(parts, workers)


def laboratory_environment(plan: Plan) -> dict[str, str]:
    foreign = {name for base in FOREIGN for name in (base, f"{base}_FILE")}
    return {
        **{name: value for name, value in os.environ.items() if name not in foreign},
        "DJANGO_SETTINGS_MODULE": "evalsite.settings",
        "EVALSITE_WORKERS": str(plan.workers),
        "EVALSITE_SIMULATOR_SECRET": secrets.token_urlsafe(),
    }


def speed(plan: Plan) -> list[str]:
    options = {"--latency-ms": plan.latency_ms, "--jitter": plan.jitter, "--seed": plan.seed}
    return [word for name, value in options.items() for word in (name, str(value))]
