"""A suite with bars from outside: a laboratory for each number of workers, one report of all."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

from runs.benchmarking.driving import Tell, drive
from runs.benchmarking.laboratory import running_laboratory
from runs.benchmarking.limits.bars import are_met
from runs.benchmarking.plan import Plan, PlanError
from runs.benchmarking.suites import LIMITS, SUITES

SHAPE = 1  # of the results; grows when a reader of older ones would misread them


def choose_rows(names: str, suite: str = LIMITS) -> tuple[str, ...]:
    """The rows named in a list with commas, in the suite's order; all of them for none."""
    rows = SUITES[suite]
    chosen = {name.strip() for name in names.split(",")} if names else set(rows)
    if unknown := sorted(chosen - set(rows)):
        raise PlanError(
            f"--rows: there is no {', '.join(unknown)}. Choose from: {', '.join(rows)}."
        )
    return tuple(name for name in rows if name in chosen)


def measure_limits(plan: Plan, tell: Tell) -> dict[str, Any]:
    """Rows that need more workers have a laboratory of their own: idle workers cost time, too."""
    parts = []
    for part in split_by_workers(plan):
        with running_laboratory(part) as laboratory:
            parts.append(drive(laboratory, part, tell))
    return join(parts, plan.suite)


def split_by_workers(plan: Plan) -> list[Plan]:
    rows: dict[int, list[str]] = defaultdict(list)
    for name in plan.rows:
        rows[max(plan.workers, SUITES[plan.suite][name].fewest_workers)].append(name)
    return [replace(plan, workers=workers, rows=tuple(names)) for workers, names in rows.items()]


def join(parts: list[dict[str, Any]], suite: str = LIMITS) -> dict[str, Any]:
    rows = [row for part in parts for row in part["rows"]]
    conditions = {
        **parts[0]["conditions"],
        "load_after": parts[-1]["conditions"]["load_after"],
        "workers": sorted({row["workers"] for row in rows}),
    }
    results = {"shape": SHAPE, "suite": suite, "met": are_met(rows), "rows": rows}
    return {"conditions": conditions, "results": results}
