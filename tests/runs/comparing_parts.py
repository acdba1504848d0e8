"""Runs with given scores, counted as workers would have, for tests of what is made of them."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User

from runs.models import Candidate, Case, Dataset, Run, Score
from runs.services.chunks.totals import tally_by_candidate
from tests.harness.factories import add_candidate, make_run, new_score
from workers.engine.records import EVALUATE

OPEN = -1.0  # what becomes of a trial is not known yet
# By case, or by the repeats of each case. None: the trial failed.
Outcomes = Sequence[float | Sequence[float | None] | None]


def make_scored(owner: User, dataset: Dataset, *candidates: Outcomes, **fields: Any) -> Run:
    """Each case has the same position in all runs that begin with as many outcomes."""
    run = make_run(owner, dataset, **fields)
    for number in range(1, len(candidates)):
        add_candidate(run, prompt=f"prompt {number}")
    return store_outcomes(run, *candidates)


def store_outcomes(run: Run, *candidates: Outcomes) -> Run:
    cases = list(run.dataset.cases.order_by("position"))
    scores: list[Score] = []
    for candidate, by_case in zip(run.candidates.order_by("position"), candidates, strict=True):
        for case, outcome in zip(cases, by_case, strict=False):
            for repeat, value in enumerate(outcome if isinstance(outcome, Sequence) else [outcome]):
                if value != OPEN:
                    scores.append(scored(run, candidate, case, len(scores), value, repeat))
    Score.objects.bulk_create(scores)
    run.asked = len(scores)
    count(run)
    return run


def scored(
    run: Run, candidate: Candidate, case: Case, position: int, value: float | None, repeat: int
) -> Score:
    if value is None:
        became: dict[str, Any] = {"error_class": "timeout", "error_message": "late"}
    else:
        became = {
            "value": value,
            "passed": value >= 0.5,
            "answer": f"The answer of run {run.pk} is {value:g}.",
            "latency_ms": 100.0 + position,
            "full_cost": 0.001,
        }
    return new_score(run, case, candidate, position, repeat=repeat, **became)


def count(run: Run) -> None:
    """What the scores of a run add up to, which nobody has counted yet."""
    tallies = tally_by_candidate((one.candidate_id, EVALUATE, one) for one in run.scores.all())
    for candidate in run.candidates.filter(pk__in=list(tallies)):
        tallies[candidate.pk].add_to(candidate)
        candidate.save()
        tallies[candidate.pk].add_to(run)
    run.save()
