"""Runs whose scores are given outcome by outcome, with the counters that go with them."""

from collections.abc import Sequence
from typing import Any

from runs.models import Candidate, Run, Score
from tests.harness.factories import new_score

OPEN = "open"  # a trial that has no score yet

Outcomes = Sequence[Sequence[Any]]
"""By case, of each repeat: a value, None for a failure, or OPEN."""


def fill(run: Run, rows: Sequence[Outcomes]) -> None:
    """With the scores of its candidates, in the order of their positions."""
    cases = list(run.dataset.cases.order_by("position"))
    scores: list[Score] = []
    for candidate, by_case in zip(run.candidates.order_by("position"), rows, strict=True):
        for case, repeats in zip(cases, by_case, strict=True):
            for repeat, outcome in enumerate(repeats):
                if outcome == OPEN:
                    continue
                given = {"value": outcome, "passed": outcome is not None and outcome >= 0.5}
                failed = {"error_class": "timeout", "value": None, "passed": None}
                fields = failed if outcome is None else given
                at = len(scores)
                scores.append(new_score(run, case, candidate, at, repeat=repeat, **fields))
    Score.objects.bulk_create(scores)
    for candidate in run.candidates.all():
        mine = [score for score in scores if score.candidate_id == candidate.pk]
        Candidate.objects.filter(pk=candidate.pk).update(**counters(mine))
    Run.objects.filter(pk=run.pk).update(**counters(scores), asked=len(scores))
    run.refresh_from_db()


def counters(scores: Sequence[Score]) -> dict[str, Any]:
    values = [score.value for score in scores if score.value is not None]
    return {
        "done": len(scores),
        "scored": len(values),
        "failed": len(scores) - len(values),
        "value_sum": sum(values),
        "value_square_sum": sum(value * value for value in values),
    }
