"""Where the rows of a folded list stand that is sorted by the means of their tries.

Every score of the run is read to know it, so of a run that has ended the places are kept in this
process: each further page then costs no more than its own rows.
"""

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import Avg, FloatField, Min, Value
from django.db.models.functions import Coalesce

from runs.models import Run
from runs.selectors.paging import Order, read_page
from runs.selectors.runs.board_figures import stamp_of
from runs.selectors.scores.trials import (
    LAST,
    PAGE_SIZE,
    Cursor,
    TrialFilters,
    asked_of_a_try,
    filter_scores,
)

KEPT_LISTS = 16  # of 16 bytes a row: at most 13 MB, where 100,000 trials are of two tries each


class PlacePage(NamedTuple):
    """`position` of a cursor is that of the first try that matches."""

    places: list[Cursor]
    has_previous: bool
    has_next: bool


class Places(NamedTuple):
    """All rows of a list, in its order. As in `Order`, ties go the same way as the keys."""

    keys: "array[float]"
    positions: "array[int]"
    is_descending: bool

    def page(self, after: Cursor | None, before: Cursor | None) -> PlacePage:
        start, end = 0, len(self.keys)
        if before is not None:
            end = bisect_left(range(end), self._sign(before), key=self._signed)
            start = max(0, end - PAGE_SIZE)
        elif after is not None:
            start = bisect_right(range(end), self._sign(after), key=self._signed)
        end = min(end, start + PAGE_SIZE)
        found = [Cursor(self.keys[at], self.positions[at]) for at in range(start, end)]
        return PlacePage(found, bool(found) and start > 0, bool(found) and end < len(self.keys))

    def _signed(self, at: int) -> tuple[float, int]:
        return self._sign(Cursor(self.keys[at], self.positions[at]))

    def _sign(self, place: Cursor) -> tuple[float, int]:
        return (-place.key, -place.position) if self.is_descending else place


def places_by_mean(
    run: Run, filters: TrialFilters, after: Cursor | None, before: Cursor | None
) -> PlacePage:
    if run.is_finished:
        return _kept(run.pk, run.created, stamp_of(run), filters).page(after, before)
    order = Order(("key", "first"), filters.is_descending)
    page = read_page(by_mean(run, filters), order, PAGE_SIZE, after=after, before=before)
    rows: list[Any] = page.rows
    found = [Cursor(row["key"], row["first"]) for row in rows]
    return PlacePage(found, page.has_previous, page.has_next)


def by_mean(run: Run, filters: TrialFilters) -> Any:
    """Candidates and cases with a try that matches, with the mean of all tries as their key. Those
    without one come last, in both directions."""
    whole = replace(filters, status="", error="", score_min=None, score_max=None, text="")
    nothing = Value(-LAST if filters.is_descending else LAST, output_field=FloatField())
    groups = filter_scores(run, whole).order_by().values("candidate_id", "case_id")
    groups = groups.annotate(key=Coalesce(Avg(filters.column), nothing))
    return groups.annotate(first=Min("position", filter=asked_of_a_try(filters) or None)).filter(
        first__isnull=False
    )


@lru_cache(maxsize=KEPT_LISTS)
def _kept(run_id: int, created: datetime, stamp: str, filters: TrialFilters) -> Places:
    """`created` and `stamp`: another list as soon as a score came, went or changed."""
    rows: Any = by_mean(Run.objects.get(pk=run_id), filters)
    rows = Order(("key", "first"), filters.is_descending).walk(rows, None)
    places = Places(array("d"), array("l"), filters.is_descending)
    for key, first in rows.values_list("key", "first").iterator(chunk_size=10_000):
        places.keys.append(key)
        places.positions.append(first)
    return places
