"""Runs with given scores, for tests of comparisons."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User

from runs.models import Candidate, Dataset, Run, Score
from tests.harness.factories import add_candidate, make_run, new_score

Values = Sequence[float | None]  # by case; None: the trial failed


def make_scored(owner: User, dataset: Dataset, *candidates: Values, **fields: Any) -> Run:
    """A run of one repeat, whose candidates have these values. Each case has the same position in
    all of them."""
    run = make_run(owner, dataset, **fields)
    for number in range(1, len(candidates)):
        add_candidate(run, prompt=f"prompt {number}")
    cases = list(dataset.cases.order_by("position"))
    scores = [
        scored(run, candidate, cases[place], place + row * len(cases), value)
        for row, (candidate, values) in enumerate(
            zip(run.candidates.order_by("position"), candidates, strict=True)
        )
        for place, value in enumerate(values)
    ]
    Score.objects.bulk_create(scores)
    return run


def scored(
    run: Run, candidate: Candidate, case: Any, position: int, value: float | None, repeat: int = 0
) -> Score:
    if value is None:
        return new_score(
            run,
            case,
            candidate,
            position,
            repeat=repeat,
            error_class="timeout",
            error_message="late",
        )
    return new_score(
        run,
        case,
        candidate,
        position,
        repeat=repeat,
        value=value,
        passed=value >= 0.5,
        answer=f"The answer of run {run.pk} is {value:g}.",
        latency_ms=100.0 + position,
        full_cost=0.001,
    )
