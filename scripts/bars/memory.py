"""The row on memory: a million planned trials are not held by anybody."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

from runs.benchmarking.measuring import MeasuringFailed
from runs.models import Run
from runs.services.runs import cancel_run, create_run
from scripts.bars.judging import Outcome, at_most, exactly
from scripts.bars.stage import Stage

CASES, PROMPTS, REPEATS = 10_000, 10, 10
SLOTS, LATENCY_MS = 100, 50.0
GOING_TRIALS = 5000  # done: by then every part of the way has been gone many times
PATIENCE_SECONDS = 60.0
POLL_SECONDS = 0.25
MOST_MEGABYTES = 100
MEGABYTE = 1_000_000
RESIDENT = 1  # field of /proc/PID/statm, in pages


def million(stage: Stage) -> Outcome:
    """Created, started, watched until it is well under way, and cancelled."""
    stage.provider(latency_ms=LATENCY_MS)
    document = stage.work(stage.endpoint(), stage.dataset(CASES), SLOTS)
    (prompt,) = document["prompts"]
    prompts = [{**prompt, "name": f"prompt {number}"} for number in range(PROMPTS)]
    here, workers = [os.getpid()], stage.bench.worker_pids
    before_here, before_workers = resident_megabytes(here), resident_megabytes(workers)
    run = create_run(stage.bench.owner, {**document, "prompts": prompts, "repeats": REPEATS})
    grown_here = resident_megabytes(here) - before_here
    highest = highest_while_going(run, workers, stage.scaled(GOING_TRIALS))
    cancel_run(run)
    wait_until_idle(stage)
    bars = [
        exactly("trials planned", 1_000_000, run.planned),
        at_most("growth of RSS, all workers", MOST_MEGABYTES, highest - before_workers, "MB"),
        at_most("growth of RSS, the creating process", MOST_MEGABYTES, grown_here, "MB"),
    ]
    return Outcome(
        bars,
        f"{PROMPTS} prompts x {CASES:,} cases x {REPEATS} repeats, {run.done:,} trials done when"
        " it was cancelled",
    )


def highest_while_going(run: Run, pids: Sequence[int], trials: int) -> float:
    highest = resident_megabytes(pids)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while run.done < trials:
        if run.is_finished or time.monotonic() > deadline:
            raise MeasuringFailed(f"{run.done:,} trials of a million are done; it is {run.state}.")
        time.sleep(POLL_SECONDS)
        highest = max(highest, resident_megabytes(pids))
        run.refresh_from_db()
    return highest


def resident_megabytes(pids: Sequence[int]) -> float:
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[RESIDENT]) for pid in pids]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def wait_until_idle(stage: Stage) -> None:
    """What still flies would be part of the next row."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while stage.simulator.ledger()["in_flight"]:
        if time.monotonic() > deadline:
            raise MeasuringFailed("A cancelled run still makes calls.")
        time.sleep(POLL_SECONDS)
