"""The process that measures: in a laboratory's environment, one row after the other.

It reads what to measure from stdin, tells its progress on stderr, and writes the report to stdout.
"""

import json
import os
import sys
import time
from typing import Any

from django.conf import settings

from runs.benchmarking.conditions import conditions_of
from runs.benchmarking.measuring import MeasuringFailed
from runs.benchmarking.parts import Setup, warm_up
from runs.benchmarking.plan import Plan
from runs.benchmarking.process_times import ProcessGone
from runs.benchmarking.whole import set_up
from runs.models import Run, RunState
from runs.services.runs import cancel_run
from scripts.bars.rows import ROWS
from scripts.bars.stage import Stage, clear
from workers.simulator.testing import SimulatorClient


def main() -> None:
    order = json.load(sys.stdin)
    plan = Plan.from_document(order["plan"])
    conditions = conditions_of(plan)
    setup = set_up(plan, order["worker_pids"], watch, say)
    warm_up(setup)
    rows = [measure_row(setup, name) for name in order["rows"]]
    json.dump({"conditions": conditions, "rows": rows}, sys.stdout)


def watch(label: str, done: int, planned: int) -> None:
    if sys.stderr.isatty():
        print(f"\x1b[2K{label}: {done:,} of {planned:,}", end="\r", file=sys.stderr, flush=True)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def measure_row(setup: Setup, name: str) -> dict[str, Any]:
    """A row that cannot be measured is missed, and says why; the others go on."""
    simulator = SimulatorClient(settings.SIMULATOR_URL, settings.SIMULATOR_SECRET)
    clear(simulator)
    stage = Stage(name, list(ROWS).index(name) + 1, setup, simulator)
    began, load = time.monotonic(), os.getloadavg()[0]
    try:
        bars, conditions = ROWS[name].measure(stage)
    except (MeasuringFailed, ProcessGone, FileNotFoundError) as problem:
        cancel_what_goes_on()
        bars, conditions = [], f"Not measured: {problem}"
    seconds = time.monotonic() - began
    say(f"{name}, {seconds:.0f} s")
    return {
        "name": name,
        "title": ROWS[name].title,
        "bars": [bar.as_document() for bar in bars],
        "met": bool(bars) and all(bar.is_met for bar in bars),
        "conditions": conditions,
        "workers": setup.plan.workers,
        "load_before": round(load, 2),
        "seconds": round(seconds, 1),
    }


def cancel_what_goes_on() -> None:
    """A run that was given up must not be measured with the next row."""
    for run in Run.objects.filter(state__in=RunState.live()):
        cancel_run(run)


if __name__ == "__main__":
    main()
