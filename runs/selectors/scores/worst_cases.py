"""The cases of a run that were answered worst, each with one of its worst answers."""

from collections.abc import Iterable
from typing import NamedTuple

from runs.models import Case, Run, Score
from runs.selectors.scores.by_case import CaseTally, tally_by_case
from runs.selectors.scores.rows import expected_of
from workers.engine.records import EVALUATE


class WorstCase(NamedTuple):
    number: int  # of the row, from 1
    question: str
    expected: str
    mean: float
    passes: int
    n: int
    failures: int
    answer: str
    candidate: str


class _Total(NamedTuple):
    case_id: int
    n: int
    value: float
    passes: int
    failures: int

    @property
    def mean(self) -> float:
        return self.value / self.n


def worst_cases(run: Run, most: int) -> list[WorstCase]:
    """The lowest mean over all candidates first; cases without a value are errors, not here."""
    candidates = run.candidates.filter(role=EVALUATE).values_list("pk", flat=True)
    totals = [one for one in _by_case(tally_by_case(run, candidates)) if one.n and one.mean < 1]
    totals.sort(key=lambda one: (one.mean, -one.n, one.case_id))
    shown = totals[:most]
    cases = Case.objects.in_bulk([one.case_id for one in shown])
    answers = _lowest(run, [one.case_id for one in shown], candidates)
    return [_told(run, cases[one.case_id], one, answers.get(one.case_id)) for one in shown]


def _by_case(tallies: Iterable[CaseTally]) -> list[_Total]:
    found: dict[int, _Total] = {}
    for one in tallies:
        n, value, passes, failures = found.get(one.case_id, (0, 0, 0.0, 0, 0))[1:]
        found[one.case_id] = _Total(
            one.case_id,
            n + one.n,
            value + one.total,
            passes + one.passes,
            failures + one.failures,
        )
    return list(found.values())


def _lowest(run: Run, case_ids: list[int], candidates: Iterable[int]) -> dict[int, Score]:
    """One score of each case, of its lowest value. Answers are only read of those."""
    scored = run.scores.filter(case_id__in=case_ids, value__isnull=False)
    rows = scored.filter(candidate__in=candidates).order_by("-value", "-pk")
    chosen = dict(rows.values_list("case_id", "pk").iterator())  # the last one stays
    found = Score.objects.filter(pk__in=chosen.values()).select_related("candidate")
    return {score.case_id: score for score in found}


def _told(run: Run, case: Case, total: _Total, score: Score | None) -> WorstCase:
    return WorstCase(
        case.position + 1,
        case.question,
        expected_of(run, case.fields) or "",
        total.mean,
        total.passes,
        total.n,
        total.failures,
        score.answer if score else "",
        score.candidate.name if score else "",
    )
