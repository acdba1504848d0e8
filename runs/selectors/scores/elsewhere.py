"""The same trial in other runs: the same candidate on the same row of the dataset, the same repeat.

A candidate's key is a digest of its prompt and model, so that equal ones are found by it. A row is
the same in another version of the dataset if it stands at the same place with the same fields.
"""

from typing import NamedTuple

from django.db.models import QuerySet

from runs.models import Candidate, Case, Run, Score
from runs.selectors.scores.trials import is_evaluated

MOST_RUNS = 20  # the newest


class TrialElsewhere(NamedTuple):
    score: Score
    difference: float | None  # of its value to that of the trial at hand; None: one has none


def same_trial_elsewhere(score: Score, runs: QuerySet[Run]) -> list[TrialElsewhere]:
    """In those of `runs` that are not its own, the newest first."""
    if not is_evaluated(score):
        return []
    others = runs.filter(dataset__name=score.case.dataset.name).exclude(pk=score.run_id)
    equal = Candidate.objects.filter(key=score.candidate.key, run__in=others).order_by("-run_id")
    candidates = list(equal.values_list("pk", "run_id")[:MOST_RUNS])
    if not candidates:
        return []
    found = Score.objects.filter(
        run__in=[run for _, run in candidates],
        candidate__in=[candidate for candidate, _ in candidates],
        case__in=same_cases(score.case),
        repeat=score.repeat,
    )
    rows = found.select_related("run", "candidate").only(
        *("position", "value", "passed", "error_class", "cached", "latency_ms", "finished"),
        *("repeat", "run__name", "run__created", "candidate__role"),
    )
    return [TrialElsewhere(row, difference(row, score)) for row in rows.order_by("-run_id")]


def same_cases(case: Case) -> list[int]:
    there = Case.objects.filter(dataset__name=case.dataset.name, position=case.position)
    return [pk for pk, fields in there.values_list("pk", "fields") if fields == case.fields]


def difference(row: Score, score: Score) -> float | None:
    return None if row.value is None or score.value is None else row.value - score.value
