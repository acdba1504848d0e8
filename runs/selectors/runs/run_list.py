"""The runs page: four counters and one page of runs, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from runs.kinds import kind_of
from runs.models import Candidate, Run, RunState
from runs.selectors.limits.rates import Answered, mean_rate, read_newest, recent_rate
from runs.selectors.paging import NEWEST_FIRST, place, read_page
from runs.selectors.runs.best_candidates import find_leaders, leader_score
from runs.selectors.runs.board_figures import stored_scores
from workers.engine.statistics.intervals import Estimate, estimate_mean

if TYPE_CHECKING:
    from runs.kinds.base import SiteKind

PAGE_SIZE = 50

_UNDER_WAY = Q(
    state__in=[RunState.STARTING, RunState.RUNNING, RunState.PAUSING, RunState.FINISHING]
)
_NEEDS_ATTENTION = Q(state__in=[RunState.PAUSED, RunState.FAILED, RunState.COMPLETED_WITH_ERRORS])
_FINISHED = Q(
    state__in=[
        RunState.COMPLETED,
        RunState.COMPLETED_WITH_ERRORS,
        RunState.FAILED,
        RunState.CANCELLED,
    ]
)

# What the filter offers, so that every counter leads to exactly the rows it counts.
STATE_FILTERS: dict[str, str] = {
    "running": "Running",
    "queued": "Queued",
    "paused": "Paused",
    "attention": "Needs attention",
    "today": "Finished today",
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Cancelled",
}


@dataclass(frozen=True, slots=True)
class RunFilters:
    state: str = ""
    kind: str = ""
    text: str = ""

    @property
    def are_set(self) -> int:
        return sum(1 for value in (self.state, self.kind, self.text) if value)


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


class RunPage(NamedTuple):
    rows: list[RunRow]
    newer: int | None
    older: int | None
    newest: int | None = None  # of all that fit, as they were read; None on later pages


class RunNews(NamedTuple):
    """What became of the runs on a page since it was read."""

    rows: list[RunRow]
    new: int  # runs that fit and were not there yet


def _finished_today() -> Q:
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return _FINISHED & Q(ended__gte=midnight)


def count_runs(runs: QuerySet[Run]) -> Counters:
    counts = runs.order_by().aggregate(
        running=Count("pk", filter=_UNDER_WAY),
        queued=Count("pk", filter=Q(state=RunState.QUEUED)),
        attention=Count("pk", filter=_NEEDS_ATTENTION),
        today=Count("pk", filter=_finished_today()),
        total=Count("pk"),
    )
    return Counters(**counts)


def filter_runs(runs: QuerySet[Run], filters: RunFilters) -> QuerySet[Run]:
    groups = {"running": _UNDER_WAY, "attention": _NEEDS_ATTENTION, "today": _finished_today()}
    if filters.state:
        runs = runs.filter(groups.get(filters.state, Q(state=filters.state)))
    if filters.kind:
        runs = runs.filter(kind=filters.kind)
    if filters.text:
        runs = runs.filter(Q(name__icontains=filters.text) | Q(dataset__name=filters.text))
    return runs


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
        describe(page.rows) if page.rows else [],
        newer=page.rows[0].pk if page.has_previous else None,
        older=page.rows[-1].pk if page.has_next else None,
        newest=(page.rows[0].pk if page.rows else 0) if is_first else None,
    )


def read_news(
    runs: QuerySet[Run], filters: RunFilters, shown: Collection[int], newest: int | None
) -> RunNews:
    """The rows that are shown, also those that do not fit any more, and how many are new."""
    new = 0 if newest is None else filter_runs(runs, filters).filter(pk__gt=newest).count()
    return RunNews(describe(for_rows(runs.filter(pk__in=shown))) if shown else [], new)


def pickable_runs(runs: QuerySet[Run], beside: Run | None) -> list[RunRow]:
    """The newest ones to compare; those on the same dataset as a given run first."""
    newest = for_rows(runs).order_by("-pk")
    if beside is None:
        return describe(newest[:PAGE_SIZE])
    alike = Q(dataset__name=beside.dataset.name)
    first = list(newest.filter(alike)[:PAGE_SIZE])
    return describe([*first, *newest.exclude(alike)[: PAGE_SIZE - len(first)]])


def for_rows(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("owner", "dataset").defer("document")


def describe(runs: Iterable[Run]) -> list[RunRow]:
    read, now = list(runs), timezone.now()
    newest = read_newest(read, now)
    leaders, scores = (
        find_leaders([run for run in read if kind_of(run).chooses]),
        headline_scores(read),
    )
    return [
        describe_one(run, newest.get(run.pk, ()), now, leaders.get(run.pk), scores.get(run.pk))
        for run in read
    ]


def describe_one(
    run: Run,
    newest: Sequence[Answered],
    now: datetime,
    leader: Candidate | None = None,
    stored: Estimate | None = None,
) -> RunRow:
    return RunRow(
        run,
        score=score_of(run, leader, stored),
        failed_share=run.failed / run.done if run.done else None,
        cached_share=run.cached / run.done if run.done else None,
        seconds=run.running_seconds(now) if run.started else None,
        rate=mean_rate(run, now) if run.is_finished else recent_rate(run, newest, now),
    )


def headline_scores(runs: Iterable[Run]) -> dict[int, Estimate]:
    """The means of those that have ended, with their intervals; of a kind that has another number
    for lists, that one."""
    read, by_kind = list(runs), defaultdict["SiteKind", list[Run]](list)
    for run in read:
        by_kind[kind_of(run)].append(run)
    found = stored_scores(read)
    for kind, mine in by_kind.items():
        found |= kind.headlines(mine)
    return found


def score_of(run: Run, leader: Candidate | None, stored: Estimate | None) -> Estimate | None:
    """`stored`: with the interval that is clustered by case, of a run that has ended."""
    if kind_of(run).chooses:
        return leader_score(leader) if leader else None
    return stored or estimate_mean(run.scored, run.value_sum, run.value_square_sum)
