"""What people said of trials, beside what the scorers said, which it never replaces."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet
from pydantic import BaseModel

from runs.models import Candidate, Override, Run, Score, Verdict
from runs.models.score import NO_VERDICTS

NO_HUMAN: dict[str, Any] = {
    "human_value": None,
    "human_passed": None,
    "human_by": None,
    "human_comment": None,
}
"""The columns of a file for a trial of which nobody said anything."""


class OverrideRow(BaseModel):
    """What a person said of a trial. The newest that is no mere comment stands; `original` takes
    those before it back, and a flag asks for another look at the trial. `value` and `passed` are
    theirs, never the trial's own."""

    verdict: Verdict
    value: float | None
    passed: bool | None
    comment: str
    author: str
    created: datetime


class Changed(NamedTuple):
    """How people's verdicts change the score of a candidate."""

    trials: int
    value: float | None  # the mean with their values in place of the scorers'


def overrides_of(score: Score) -> list[Override]:
    """The newest first."""
    return list(Override.objects.filter(score=score.pk).select_related("author").order_by("-pk"))


def flags() -> QuerySet[Override]:
    """Those that nobody removed since: `flags().values("score")` are the flagged trials."""
    removed = Override.objects.filter(
        score=OuterRef("score"), verdict=Verdict.UNFLAG, pk__gt=OuterRef("pk")
    )
    return Override.objects.filter(~Exists(removed.order_by()), verdict=Verdict.FLAG).order_by()


def flagged_among(scores: Iterable[Score]) -> set[int]:
    found = flags().filter(score__in=[score.pk for score in scores])
    return set(found.values_list("score", flat=True))


def override_row(override: Override) -> OverrideRow:
    return OverrideRow(
        verdict=Verdict(override.verdict),
        value=override.value,
        passed=override.passed,
        comment=override.comment,
        author=override.author.get_username(),
        created=override.created,
    )


def standing(overrides: Iterable[Override]) -> dict[int, Override]:
    """By score, the one that counts; `overrides` are in the order in which they were given."""
    found: dict[int, Override] = {}
    for one in overrides:
        if one.verdict == Verdict.ORIGINAL:
            found.pop(one.score_id, None)
        elif one.verdict not in NO_VERDICTS:
            found[one.score_id] = one
    return found


def changes_by_candidate(run: Run) -> dict[int, Changed]:
    """Of the candidates that people's verdicts change."""
    given = run.overrides.select_related("score").only(
        *("score_id", "verdict", "value", "score__candidate_id", "score__value")
    )
    by_candidate = defaultdict(list)
    for one in standing(given.order_by("pk")).values():
        by_candidate[one.score.candidate_id].append(one)
    candidates = run.candidates.filter(pk__in=by_candidate).only("pk", "scored", "value_sum")
    return {one.pk: changed(one, by_candidate[one.pk]) for one in candidates}


def changed(candidate: Candidate, overrides: Collection[Override]) -> Changed:
    """A failed trial that somebody judged counts, too: it has a value now."""
    old = [one.score.value for one in overrides if one.score.value is not None]
    total = candidate.value_sum - sum(old) + sum(one.value or 0.0 for one in overrides)
    count = candidate.scored - len(old) + len(overrides)
    return Changed(len(overrides), total / count if count else None)


def human_columns(scores: Collection[Score]) -> dict[int, dict[str, Any]]:
    """By score, for files; only of those that somebody said something of."""
    given = Override.objects.filter(score__in=[score.pk for score in scores])
    rows = list(given.select_related("author").order_by("pk"))
    stand = standing(rows)
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        columns = found.setdefault(row.score_id, dict(NO_HUMAN))
        if row.comment:
            columns["human_comment"] = row.comment
        columns["human_by"] = row.author.get_username()
    for score_id, row in stand.items():
        found[score_id] |= {
            "human_value": row.value,
            "human_passed": row.passed,
            "human_by": row.author.get_username(),
        }
    return found
