"""The scores with the repeats of a candidate on a case folded into one row.

A row stands where its first matching try stands, or at its mean where a list is sorted by it. So a
page is found by its place, as in the list of single tries. Which rows there are says the filter;
their figures are those of all tries.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.db.models import Avg, Count, Exists, OuterRef, Q, QuerySet, Sum

from runs.models import Run, Score
from runs.selectors.paging import BY_POSITION, place
from runs.selectors.pickable import Pickable
from runs.selectors.scores.fold_places import places_by_mean
from runs.selectors.scores.trials import (
    Cursor,
    TrialFilters,
    TrialPage,
    asked_of_a_try,
    filter_scores,
    page_of,
    with_texts,
)

FIGURES = {  # in the order of Fold, behind `matching`
    "tries": Count("pk"),
    "scored": Count("value"),
    "passes": Count("pk", filter=Q(passed=True)),
    "cached": Count("pk", filter=Q(cached=True)),
    "value": Avg("value"),
    "latency_ms": Avg("latency_ms"),
    "tokens_in": Sum("tokens_in"),
    "tokens_out": Sum("tokens_out"),
    "cost": Sum("cost"),
}

Pair = tuple[int, int]  # the primary keys of a candidate and a case


class FoldedScore(Pickable):
    """The tries of a candidate on a case. `position` is that of the first one that matches, of
    which `matching` are there; all else is of all tries. `value` and `latency_ms` are means, tokens
    and `cost` are sums; a try that failed has no value."""

    position: int
    candidate: str
    role: str
    case: int
    tries: int
    matching: int
    scored: int
    failed: int
    passes: int
    cached: int
    value: float | None
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None


class Fold(NamedTuple):
    matching: int
    tries: int
    scored: int
    passes: int
    cached: int
    value: float | None
    latency_ms: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None

    @property
    def failed(self) -> int:
        return self.tries - self.scored


def has_repeats(run: Run) -> bool:
    return tries_of(run) > 1


def tries_of(run: Run) -> int:
    """Of a candidate on a case, as planned."""
    return int(run.document.get("repeats") or 1)


def list_folded(
    run: Run, filters: TrialFilters, after: Cursor | None = None, before: Cursor | None = None
) -> TrialPage:
    """One page of the table: of each row the first try that matches."""
    if filters.column == "position":
        rows = rows_in_order(run, filters, is_first=after is None and before is None)
        return page_of(with_texts(rows), filters, after, before)
    page = places_by_mean(run, filters, after, before)
    places = page.places
    found = with_texts(run.scores.filter(position__in=[each.position for each in places]))
    scores = {score.position: score for score in found}
    return TrialPage(
        [scores[each.position] for each in places],
        previous=places[0] if page.has_previous else None,
        next=places[-1] if page.has_next else None,
    )


def rows_in_order(run: Run, filters: TrialFilters, *, is_first: bool) -> QuerySet[Score]:
    """Where all tries match and none is missing, the number of a try says whether a row stands
    there: the end of a long list is then found without a look at every try's neighbours. A first
    page finds its rows at once."""
    matching = filter_scores(run, filters)
    if not is_first and not asked_of_a_try(filters) and has_all_tries(run):
        return matching.filter(repeat=tries_of(run) - 1 if filters.is_descending else 0)
    return first_tries(matching, is_descending=filters.is_descending)


def has_all_tries(run: Run) -> bool:
    """Whether every candidate has been tried as often as planned on every case that it was tried
    on: no pair can have more tries than that, so the numbers are equal only if none has fewer."""
    pairs = run.scores.order_by().values("candidate_id", "case_id").distinct().count()
    return run.scores.count() == pairs * tries_of(run)


def first_tries(matching: QuerySet[Score], *, is_descending: bool = False) -> QuerySet[Score]:
    """Of each candidate and case the try with no other one before it: a look into the index over
    candidate, case and repeat each. Descending: with none behind it."""
    side = "repeat__gt" if is_descending else "repeat__lt"
    others = matching.filter(
        candidate=OuterRef("candidate"), case=OuterRef("case"), **{side: OuterRef("repeat")}
    )
    return matching.filter(~Exists(others.order_by()))


def folds_of(run: Run, scores: Sequence[Score], asked: Q) -> Mapping[Pair, Fold]:
    """The figures of the rows that these tries stand for; `asked`: what a try must fit."""
    pairs = [(score.candidate_id, score.case_id) for score in scores]
    if not pairs:
        return {}
    which = reduce(or_, (Q(run=run, **part) for part in looked_up(pairs)))
    rows = Score.objects.filter(which).order_by().values_list("candidate_id", "case_id")
    matching = Count("pk", filter=asked or None)
    return {
        (one, other): Fold(*figures)
        for one, other, *figures in rows.annotate(matching=matching, **FIGURES)
    }


def looked_up(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """As few conditions as there are cases, or candidates: Django needs longer to write 50 of them
    than the database to answer. The run belongs into each: so each is a look into the index."""
    by_case: dict[int, list[int]] = defaultdict(list)
    by_candidate: dict[int, list[int]] = defaultdict(list)
    for candidate, case in pairs:
        by_case[case].append(candidate)
        by_candidate[candidate].append(case)
    if len(by_case) <= len(by_candidate):
        return [{"case": case, "candidate__in": several} for case, several in by_case.items()]
    return [{"candidate": one, "case__in": cases} for one, cases in by_candidate.items()]


def list_tries(run: Run, candidate: int, case: int) -> list[Score]:
    """Of one row, in their order; candidate and case by their positions."""
    found = filter_scores(run, TrialFilters(candidate=candidate, cases=(case,)))
    return list(with_texts(found).order_by("repeat"))


def list_folded_rows(
    run: Run, filters: TrialFilters, *, after: int | None, since: datetime | None, most: int
) -> list[dict[str, Any]]:
    """For programs, in the order of the trials: at most `most` rows behind a position. With `since`
    those of which a try finished since then."""
    asked = asked_of_a_try(filters)
    matching = filter_scores(run, filters)
    if since is not None:
        asked &= Q(finished__gte=since)
        matching = matching.filter(finished__gte=since)
    found = BY_POSITION.walk(first_tries(matching), place(after)).select_related(
        "candidate", "case"
    )
    page = list(
        found.only("position", "candidate__key", "candidate__role", "case__position")[:most]
    )
    folds = folds_of(run, page, asked)
    return [row_of(score, folds[score.candidate_id, score.case_id]) for score in page]


def row_of(score: Score, fold: Fold) -> dict[str, Any]:
    """Shaped as a FoldedScore."""
    return {
        "position": score.position,
        "candidate": score.candidate.key,
        "role": score.candidate.role,
        "case": score.case.position,
        **fold._asdict(),
        "failed": fold.failed,
    }
