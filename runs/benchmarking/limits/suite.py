"""Measures the chosen rows in a laboratory, one after the other."""

import os
import time
from typing import Any

from django.conf import settings

from runs.benchmarking.conditions import conditions_of
from runs.benchmarking.limits.row import Row
from runs.benchmarking.limits.stage import Stage, clear
from runs.benchmarking.measuring import MeasuringFailed, Watch
from runs.benchmarking.parts import Say, Setup, warm_up
from runs.benchmarking.plan import Plan
from runs.benchmarking.process_times import ProcessGone
from runs.benchmarking.suites import SUITES
from runs.benchmarking.whole import set_up
from runs.models import Run, RunState
from runs.services.runs import cancel_run
from workers.simulator.testing import SimulatorClient


def measure_rows(plan: Plan, worker_pids: list[int], watch: Watch, say: Say) -> dict[str, Any]:
    """The conditions, and every row with its bars."""
    conditions = conditions_of(plan)
    setup = set_up(plan, worker_pids, watch, say)
    warm_up(setup)
    suite = SUITES[plan.suite]
    rows = [measure_row(setup, name, suite) for name in plan.rows]
    conditions["load_after"] = round(os.getloadavg()[0], 2)
    return {"conditions": conditions, "rows": rows}


def measure_row(setup: Setup, name: str, suite: dict[str, Row]) -> dict[str, Any]:
    """A row that cannot be measured is missed, and says why; the others go on."""
    simulator = SimulatorClient(settings.SIMULATOR_URL, settings.SIMULATOR_SECRET)
    clear(simulator)
    stage = Stage(name, list(suite).index(name) + 1, setup, simulator)
    began, load = time.monotonic(), os.getloadavg()[0]
    row: dict[str, Any] = {
        "name": name,
        "title": suite[name].title,
        "workers": setup.plan.workers,
        "load_before": round(load, 2),
    }
    try:
        outcome = suite[name].measure(stage)
    except (MeasuringFailed, ProcessGone) as problem:
        cancel_what_goes_on()
        row.update(bars=[], met=False, conditions="", problem=str(problem))
    else:
        bars = [bar.as_document() for bar in outcome.bars]
        met = all(bar.is_met for bar in outcome.bars)
        row.update(bars=bars, met=met, conditions=outcome.conditions, problem="")
    row["seconds"] = round(time.monotonic() - began, 1)
    setup.say(f"{name}: {'met' if row['met'] else 'MISSED'}, {row['seconds']:.0f} s")
    return row


def cancel_what_goes_on() -> None:
    """A run that was given up must not be measured with the next row."""
    for run in Run.objects.filter(state__in=RunState.live()):
        cancel_run(run)
