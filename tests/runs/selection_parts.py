"""A selection that was played to its end, and how any run is played without a worker."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User

from runs.models import Dataset, Run
from runs.services.chunks.planning import advance_run
from runs.services.runs import create_run
from tests.workers.by_hand import work_one_chunk
from workers.engine.records import Score, Trial


def play(run: Run, outcome: Callable[[Trial], Score], until: int | None = None) -> Run:
    """To its end, or until so many trials or a few more are done. What is recorded is planned on
    here, since in most tests no transaction ends."""
    advance_run(run.pk)
    run.refresh_from_db()
    while not run.is_finished and (until is None or run.done < until):
        work_one_chunk(run, outcome)
        advance_run(run.pk)
        run.refresh_from_db()
    return run


def make_selection(owner: User, dataset: Dataset, **changes: Any) -> Run:
    """The large solver is always right, the small one never."""
    models = ["simulated/sim-small", "simulated/sim-large"]
    document = {
        "name": "pick",
        "kind": "select",
        "dataset": dataset.name,
        "steps": [{"name": "solver", "user": "{{question}}", "models": models}],
        "scorers": ["exact"],
        "strategy": {"name": "paired_elimination"},
    }
    run = create_run(owner, {**document, **changes})

    def outcome(trial: Trial) -> Score:
        is_right = "sim-large" in run.candidates.get(key=trial.candidate).name
        took: Any = {"latency_ms": 120.0, "cost": 0.002, "full_cost": 0.002}
        return Score(trial, value=float(is_right), passed=is_right, **took)

    return play(run, outcome)
