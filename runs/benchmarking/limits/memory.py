"""The row on memory: a million planned trials are not held by anybody."""

import os
import time
from collections.abc import Sequence

from runs.benchmarking.limits import judging
from runs.benchmarking.limits.bars import Outcome, exactly
from runs.benchmarking.limits.stage import Stage
from runs.benchmarking.measuring import MeasuringFailed
from runs.benchmarking.process_times import resident_bytes
from runs.models import Run
from runs.services.runs import cancel_run, create_run

CASES, PROMPTS, REPEATS = 10_000, 10, 10
SLOTS, LATENCY_MS = 100, 50.0
GOING_TRIALS = 5000  # done: by then every part of the way has been gone many times
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.25
MOST_MEGABYTES = 100


def million(stage: Stage) -> Outcome:
    """Created, started, watched until it is well under way, and cancelled."""
    stage.provider(latency_ms=LATENCY_MS)
    document = stage.work(stage.endpoint(), stage.dataset(CASES), SLOTS)
    (prompt,) = document["prompts"]
    prompts = [{**prompt, "name": f"prompt {number}"} for number in range(PROMPTS)]
    here, workers = [os.getpid()], stage.bench.worker_pids
    before_here, before_workers = resident_bytes(here), resident_bytes(workers)
    run = create_run(stage.bench.owner, {**document, "prompts": prompts, "repeats": REPEATS})
    after_here = resident_bytes(here)
    highest = highest_while_going(run, workers, stage.scaled(GOING_TRIALS))
    cancel_run(run)
    wait_until_idle(stage)
    bars = [
        exactly("trials planned", 1_000_000, run.planned),
        judging.growth("all workers", MOST_MEGABYTES, before_workers, highest),
        judging.growth("the creating process", MOST_MEGABYTES, before_here, after_here),
    ]
    return Outcome(
        bars,
        f"{PROMPTS} prompts x {CASES:,} cases x {REPEATS} repeats, {run.done:,} trials done when"
        " it was cancelled",
    )


def highest_while_going(run: Run, pids: Sequence[int], trials: int) -> int | None:
    highest = None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while run.done < trials:
        if run.is_finished or time.monotonic() > deadline:
            raise MeasuringFailed(f"{run.done:,} trials of a million are done; it is {run.state}.")
        time.sleep(POLL_SECONDS)
        now = resident_bytes(pids)
        highest = now if highest is None or now is None else max(highest, now)
        run.refresh_from_db()
    return highest


def wait_until_idle(stage: Stage) -> None:
    """What still flies would be part of the next row."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while stage.simulator.ledger()["in_flight"]:
        if time.monotonic() > deadline:
            raise MeasuringFailed("A cancelled run still makes calls.")
        time.sleep(POLL_SECONDS)
