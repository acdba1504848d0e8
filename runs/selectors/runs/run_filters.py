"""Which runs a list shows: what a person chose on the page, or a program asked for."""

from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from runs.models import Run, RunStar, RunState, RunTag

UNDER_WAY = Q(state__in=[RunState.STARTING, RunState.RUNNING, RunState.PAUSING, RunState.FINISHING])
NEEDS_ATTENTION = Q(state__in=[RunState.PAUSED, RunState.FAILED, RunState.COMPLETED_WITH_ERRORS])
_FINISHED = Q(
    state__in=[
        RunState.COMPLETED,
        RunState.COMPLETED_WITH_ERRORS,
        RunState.FAILED,
        RunState.CANCELLED,
    ]
)
IN_USE = Q(archived=None)
ARCHIVED = Q(archived__isnull=False, remove_after=None)
DELETED = Q(remove_after__isnull=False)

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
    "archived": "Archived",
    "deleted": "Deleted",
}


@dataclass(frozen=True, slots=True)
class RunFilters:
    state: str = ""
    kind: str = ""
    text: str = ""
    owner: str = ""  # the exact name of an account
    endpoint: str = ""  # one that it called, or may have
    tag: str = ""
    since: datetime | None = None  # launched then or later
    until: datetime | None = None  # launched before
    starred_by: int | None = None  # an account

    @property
    def are_set(self) -> int:
        return sum(1 for field in fields(self) if getattr(self, field.name))

    @property
    def last_day(self) -> datetime | None:
        """As a person says it: that day is still in."""
        return self.until - timedelta(days=1) if self.until else None

    @property
    def more_are_set(self) -> bool:
        """Of those that the page shows only when asked for."""
        return bool(self.owner or self.endpoint or self.tag or self.since or self.until)


def finished_today() -> Q:
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return _FINISHED & Q(ended__gte=midnight)


def filter_runs(runs: QuerySet[Run], filters: RunFilters) -> QuerySet[Run]:
    runs = narrow(runs.filter(in_state(filters.state)), filters)
    if filters.text:
        runs = runs.filter(Q(name__icontains=filters.text) | Q(dataset__name=filters.text))
    return runs


def in_state(state: str) -> Q:
    """What is archived or deleted shows only there."""
    whole: dict[str, Q] = {"archived": ARCHIVED, "deleted": DELETED}
    if state in whole:
        return whole[state]
    groups = {"running": UNDER_WAY, "attention": NEEDS_ATTENTION, "today": finished_today()}
    return IN_USE & groups.get(state, Q(state=state)) if state else IN_USE


def narrow(runs: QuerySet[Run], filters: RunFilters) -> QuerySet[Run]:
    """By all but state and text, of which a page and a program say different things."""
    if filters.kind:
        runs = runs.filter(kind=filters.kind)
    if filters.owner:
        runs = runs.filter(owner__username=filters.owner)
    if filters.endpoint:
        runs = runs.filter(snapshot_of__endpoints__has_key=filters.endpoint)
    if filters.tag:
        runs = runs.filter(pk__in=RunTag.objects.filter(name=filters.tag).values("run"))
    if filters.since:
        runs = runs.filter(created__gte=filters.since)
    if filters.until:
        runs = runs.filter(created__lt=filters.until)
    if filters.starred_by is not None:
        starred = RunStar.objects.filter(person_id=filters.starred_by)
        runs = runs.filter(pk__in=starred.values("run"))
    return runs
