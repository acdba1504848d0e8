"""Measures everything a plan asks for, and tells what came of it."""

import os
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User

from runs.benchmarking.conditions import conditions_of
from runs.benchmarking.measuring import Bench, MeasuringFailed, Watch
from runs.benchmarking.parts import (
    CacheParts,
    Curve,
    Say,
    Schedules,
    Setup,
    set_up_endpoint,
    warm_up,
)
from runs.benchmarking.plan import Plan
from runs.benchmarking.spending import Budget
from workers.simulator.testing import SimulatorClient

SHAPE = 1  # of the results; grows when a reader of older ones would misread them
BUSY_SHARE = 0.5  # of the cores in use by others: numbers are worse than they could be


def measure_all(plan: Plan, worker_pids: list[int], watch: Watch, say: Say) -> dict[str, Any]:
    """The conditions and the results, as they are stored."""
    conditions = conditions_of(plan)
    setup = set_up(plan, worker_pids, watch, say)
    if plan.endpoint is None:
        warm_up(setup)
    results = measure_parts(setup)
    conditions["load_after"] = round(os.getloadavg()[0], 2)
    if conditions["load_before"] > BUSY_SHARE * conditions["cores"]:
        results["notes"].append(
            f"The machine was busy with other things (load {conditions['load_before']:g} on"
            f" {conditions['cores']} cores before the start): a quiet one is faster."
        )
    return {"conditions": conditions, "results": results}


def set_up(plan: Plan, worker_pids: list[int], watch: Watch, say: Say) -> Setup:
    owner = User.objects.create(username="benchmark", is_staff=True)
    simulator = None
    if not plan.endpoint:
        simulator = SimulatorClient(settings.SIMULATOR_URL, settings.SIMULATOR_SECRET)
    bench = Bench(owner, worker_pids, simulator, watch)
    return Setup(plan, bench, set_up_endpoint(plan, owner), say)


def measure_parts(setup: Setup) -> dict[str, Any]:
    plan = setup.plan
    curve, cache, schedules = Curve(setup), CacheParts(setup), Schedules(setup)
    budget = Budget(plan.endpoint) if plan.endpoint else None
    notes = notes_on(plan)
    for repeat in range(plan.repeats):
        try:
            curve.measure(repeat, budget)
        except MeasuringFailed as problem:
            if budget is None or repeat == 0:
                raise
            notes.append(f"Stopped in repeat {repeat + 1}: {problem}")
            break
        if plan.endpoint is None:
            cache.measure(repeat)
            schedules.measure(repeat)
    results: dict[str, Any] = {"shape": SHAPE, "curve": curve.points(), "notes": notes}
    if plan.endpoint is None:
        results["cache"] = cache.points(off=curve.at(plan.most_concurrent))
        results["schedule"] = schedules.points()
        results["same_results"] = schedules.have_same_results()
    if budget:
        results["dollars"] = round(budget.spent, 6)
    return results


def notes_on(plan: Plan) -> list[str]:
    notes = [
        f"Sequential was measured on {plan.trials_at(1):,} trials; speed-ups compare trials a"
        " second within the same repeat. The start of a run weighs more on few trials, so that a"
        " speed-up may come out a little above the ideal."
    ]
    if plan.endpoint:
        notes.append(
            "A real endpoint: peak in flight and calls are as the workers counted them, the ideal"
            " uses the mean latency of the answers. Cache and schedules are not measured on it."
        )
    return notes
