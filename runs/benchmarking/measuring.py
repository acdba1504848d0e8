"""Times one run from its creation to its end, through the real path."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db.models import Avg

from runs.benchmarking.process_times import ProcessGone, cpu_seconds
from runs.models import Run, RunState, Score
from runs.services.runs import create_run
from workers.simulator.testing import SimulatorClient

POLL_SECONDS = 0.1  # the times are the database's; this only decides when we notice
PATIENCE = 20  # times the ideal that a run may take before we give it up
LEAST_PATIENCE_SECONDS = 60.0
TOO_MANY_REQUESTS = "429"

Watch = Callable[[str, int, int], None]  # label, done, planned


class MeasuringFailed(Exception):
    """A run that could not be measured; the message says why."""


@dataclass(frozen=True)
class Bench:
    """What every measurement uses."""

    owner: User
    worker_pids: list[int]
    simulator: SimulatorClient | None  # None: a real endpoint, which keeps no ledger for us
    watch: Watch


class Traffic(NamedTuple):
    """What reached the provider."""

    calls: int
    refused: int  # answered 429
    peak_in_flight: int


@dataclass(frozen=True)
class Measurement:
    """What became of one run."""

    run_id: int
    n: int
    concurrency: int
    wall_seconds: float
    latency_ms: float  # mean: as set for the simulated provider, as measured for a real one
    cpu_seconds: float | None
    traffic: Traffic
    failed: int
    cached: int
    tokens_in: int
    tokens_out: int

    @property
    def ideal_seconds(self) -> float:
        return self.n * self.latency_ms / 1000 / self.concurrency

    @property
    def trials_per_second(self) -> float:
        return self.n / self.wall_seconds


def measure(
    bench: Bench,
    label: str,
    document: dict[str, Any],
    *,
    latency_ms: float | None,
    expected_seconds: float,
) -> Measurement:
    """Run a document; what is set up before it and read after it is not part of the time."""
    if bench.simulator:
        bench.simulator.reset()
    cpu_before = cpu_seconds(bench.worker_pids)
    run = create_run(bench.owner, document)
    wait_until_finished(run, bench, label, expected_seconds)
    cpu_after = cpu_seconds(bench.worker_pids)
    if run.ended is None or run.state in {RunState.FAILED, RunState.CANCELLED}:
        raise MeasuringFailed(f"A run of the benchmark was {run.state}: {run.reason}")
    used = None if cpu_before is None or cpu_after is None else cpu_after - cpu_before
    return Measurement(
        run_id=run.pk,
        n=run.done,
        concurrency=document["limits"]["max_concurrent"],
        wall_seconds=(run.ended - run.created).total_seconds(),
        latency_ms=latency_ms or mean_latency_ms(run),
        cpu_seconds=used,
        traffic=traffic_of(bench, run),
        failed=run.failed,
        cached=run.cached,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
    )


def wait_until_finished(run: Run, bench: Bench, label: str, expected_seconds: float) -> None:
    deadline = time.monotonic() + max(LEAST_PATIENCE_SECONDS, PATIENCE * expected_seconds)
    while not run.is_finished:
        time.sleep(POLL_SECONDS)
        try:
            cpu_seconds(bench.worker_pids)
        except ProcessGone:
            raise MeasuringFailed("A worker of the benchmark ended while it measured.") from None
        run.refresh_from_db()
        bench.watch(label, run.done, run.planned)
        if time.monotonic() > deadline:
            raise MeasuringFailed(
                f"A run took more than {PATIENCE} times the {expected_seconds:.1f} s it should:"
                f" {run.done} of {run.planned} trials are done. Try fewer trials."
            )


def traffic_of(bench: Bench, run: Run) -> Traffic:
    """The provider's own account where it keeps one, else what the workers counted."""
    if bench.simulator is None:
        return Traffic(run.calls_sent, run.calls_throttled, run.peak_in_flight)
    ledger = bench.simulator.ledger()
    refused = ledger["by_status"].get(TOO_MANY_REQUESTS, 0)
    return Traffic(ledger["total"], refused, ledger["peak_in_flight"])


def mean_latency_ms(run: Run) -> float:
    answered = Score.objects.filter(run=run, cached=False, latency_ms__isnull=False)
    mean: float | None = answered.aggregate(mean=Avg("latency_ms"))["mean"]
    if mean is None:
        raise MeasuringFailed("No call was answered, so there is nothing to compare with.")
    return mean
