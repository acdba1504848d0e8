"""The runs page: four counters and one page of runs, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from runs.formatting import short_dollars
from runs.kinds import kind_of
from runs.models import Candidate, Run, RunState
from runs.selectors.limits.rates import Answered, mean_rate, read_newest, recent_rate
from runs.selectors.paging import NEWEST_FIRST, place, read_page
from runs.selectors.runs.best_candidates import Leader, find_leaders
from runs.selectors.runs.costs import value_text
from runs.selectors.runs.organised import tags_of
from runs.selectors.runs.run_filters import (
    IN_USE,
    NEEDS_ATTENTION,
    UNDER_WAY,
    RunFilters,
    filter_runs,
    finished_today,
)
from runs.selectors.runs.sparklines import last_minutes
from workers.engine.statistics.intervals import Estimate

if TYPE_CHECKING:
    from runs.kinds.base import SiteKind

PAGE_SIZE = 50

# Those a person may choose; the name with its tags and the state are always there.
COLUMNS: dict[str, str] = {
    "kind": "Kind",
    "dataset": "Dataset",
    "owner": "Owner",
    "progress": "Progress",
    "score": "Score",
    "best": "Best candidate",
    "errors": "Errors",
    "cached": "Cached",
    "rate": "Throughput",
    "cost": "Cost",
    "time": "Time",
    "created": "Created",
}
USUAL = tuple(name for name in COLUMNS if name not in {"owner", "best"})


class Counters(NamedTuple):
    running: int
    queued: int
    attention: int
    today: int
    total: int


class RunRow(NamedTuple):
    """A run with the figures that its list row shows."""

    run: Run
    score: Estimate | None
    failed_share: float | None
    cached_share: float | None
    seconds: float | None
    rate: float | None  # trials a second: just now, or the mean when it is over
    tags: Sequence[str] = ()
    spark: Sequence[int] = ()  # trials that ended in each part of its last minute
    best: Candidate | None = None  # whose score it is, unless the kind has another number

    @property
    def cost(self) -> str:
        return value_text(self.run, short_dollars)


class RunPage(NamedTuple):
    rows: list[RunRow]
    newer: int | None
    older: int | None
    newest: int | None = None  # of all that fit, as they were read; None on later pages


class RunNews(NamedTuple):
    """What became of the runs on a page since it was read."""

    rows: list[RunRow]
    new: int  # runs that fit and were not there yet


def count_runs(runs: QuerySet[Run]) -> Counters:
    counts = runs.order_by().aggregate(
        running=Count("pk", filter=IN_USE & UNDER_WAY),
        queued=Count("pk", filter=IN_USE & Q(state=RunState.QUEUED)),
        attention=Count("pk", filter=IN_USE & NEEDS_ATTENTION),
        today=Count("pk", filter=IN_USE & finished_today()),
        total=Count("pk"),
    )
    return Counters(**counts)


def list_runs(
    runs: QuerySet[Run],
    filters: RunFilters,
    older_than: int | None = None,
    newer_than: int | None = None,
) -> RunPage:
    """One page, newest first, starting next to a run's id: pages stay put while runs arrive."""
    found = for_rows(filter_runs(runs, filters))
    after, before = place(older_than), place(newer_than)
    page = read_page(found, NEWEST_FIRST, PAGE_SIZE, after=after, before=before)
    is_first = older_than is None and newer_than is None
    return RunPage(
        describe_listed(page.rows) if page.rows else [],
        newer=page.rows[0].pk if page.has_previous else None,
        older=page.rows[-1].pk if page.has_next else None,
        newest=(page.rows[0].pk if page.rows else 0) if is_first else None,
    )


def read_news(
    runs: QuerySet[Run],
    filters: RunFilters,
    shown: Collection[int],
    newest: int | None,
) -> RunNews:
    """The rows that are shown, also those that do not fit any more, and how many are new."""
    new = 0 if newest is None else filter_runs(runs, filters).filter(pk__gt=newest).count()
    rows = for_rows(runs.filter(pk__in=shown)) if shown else ()
    return RunNews(describe_listed(rows) if shown else [], new)


def pickable_runs(runs: QuerySet[Run], beside: Run | None) -> list[RunRow]:
    """The newest ones to compare; those on the same dataset as a given run first."""
    newest = for_rows(runs.filter(IN_USE)).order_by("-pk")
    if beside is None:
        return describe(newest[:PAGE_SIZE])
    alike = Q(dataset__name=beside.dataset.name)
    first = list(newest.filter(alike)[:PAGE_SIZE])
    return describe([*first, *newest.exclude(alike)[: PAGE_SIZE - len(first)]])


def for_rows(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("owner", "dataset").defer("document")


def describe_listed(runs: Iterable[Run]) -> list[RunRow]:
    """With what only the runs page shows."""
    rows = describe(runs)
    sparks = last_minutes([row.run for row in rows], timezone.now())
    return [row._replace(tags=tags_of(row.run), spark=sparks.get(row.run.pk, ())) for row in rows]


def describe(runs: Iterable[Run]) -> list[RunRow]:
    read, now = list(runs), timezone.now()
    newest, best, scores = read_newest(read, now), find_leaders(read), own_headlines(read)
    return [
        describe_one(run, newest.get(run.pk, ()), now, best.get(run.pk), scores.get(run.pk))
        for run in read
    ]


def describe_one(
    run: Run,
    newest: Sequence[Answered],
    now: datetime,
    best: Leader | None,
    headline: Estimate | None,
) -> RunRow:
    return RunRow(
        run,
        score=headline or (best.score if best else None),
        failed_share=run.failed / run.done if run.done else None,
        cached_share=run.cached / run.done if run.done else None,
        seconds=run.running_seconds(now) if run.started else None,
        rate=mean_rate(run, now) if run.is_finished else recent_rate(run, newest, now),
        best=best.candidate if best else None,
    )


def own_headlines(runs: Iterable[Run]) -> dict[int, Estimate]:
    """Of kinds that have another number for lists than the score of their best candidate."""
    by_kind, found = defaultdict["SiteKind", list[Run]](list), dict[int, Estimate]()
    for run in runs:
        by_kind[kind_of(run)].append(run)
    for kind, mine in by_kind.items():
        found |= kind.headlines(mine)
    return found
