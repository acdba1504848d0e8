"""What needs a person, first on the runs list: why it stands, and the one thing to do about it."""

from collections.abc import Collection
from datetime import timedelta
from typing import NamedTuple

from django.db.models import Case, Q, QuerySet, Value, When
from django.utils import timezone

from runs.models import Run, RunState
from runs.selectors.limits.rates import is_working, read_newest
from runs.selectors.runs.run_filters import IN_USE
from runs.selectors.system.maintenance import PAUSED_FOR_MAINTENANCE

MOST_SHOWN = 5  # the counter leads to the others
STALLED_SECONDS = 300
MOST_WATCHED = 200  # of which those under way may turn out to be well
RECENT_DAYS = 7  # what failed longer ago has been seen, or nobody cares

RESUME, RETRY, RAISE, LOOK, DUPLICATE = "resume", "retry", "raise", "look", "duplicate"
FIRST = Case(
    When(state=RunState.PAUSED, then=Value(0)),
    When(state=RunState.RUNNING, then=Value(1)),
    default=Value(2),
)


class Alert(NamedTuple):
    """`action` is one of the words above; empty where only time helps."""

    run: Run
    why: str
    action: str


def find_alerts(runs: QuerySet[Run]) -> list[Alert]:
    """Those that stand still before those that went wrong, the newest first."""
    since = timezone.now() - timedelta(days=RECENT_DAYS)
    ended = Q(state__in=[RunState.FAILED, RunState.COMPLETED_WITH_ERRORS], ended__gte=since)
    going = Q(state=RunState.RUNNING, going_since__lt=timezone.now() - timedelta(minutes=5))
    found = runs.filter(IN_USE & (Q(state=RunState.PAUSED) | ended | going))
    rows = found.order_by(FIRST, "-pk").select_related("owner", "dataset").defer("document")
    read = list(rows[:MOST_WATCHED])
    stalled = find_stalled([run for run in read if run.state == RunState.RUNNING])
    wanted = [run for run in read if run.state != RunState.RUNNING or run.pk in stalled]
    return [alert_of(run) for run in wanted[:MOST_SHOWN]]


def find_stalled(runs: Collection[Run]) -> set[int]:
    """Of runs that should go on, those that had no answer for five minutes."""
    now = timezone.now()
    newest = read_newest(runs, now)
    return {
        run.pk
        for run in runs
        if is_working(run)
        and run.running_seconds(now) - last_answer(newest.get(run.pk, ())) > STALLED_SECONDS
    }


def last_answer(newest: Collection[tuple[int, int]]) -> int:
    return max((second for second, _ in newest), default=0)


def alert_of(run: Run) -> Alert:
    if run.state == RunState.RUNNING:
        return Alert(run, "No answer for five minutes. Look at its endpoints and events.", LOOK)
    if run.state == RunState.FAILED:
        return Alert(run, run.reason or "It could not go on.", DUPLICATE)
    if run.state == RunState.COMPLETED_WITH_ERRORS:
        failed = f"{run.failed:,} of {run.done:,} trials failed."
        return Alert(run, failed, RETRY)
    if run.spent_budgets:
        return Alert(run, run.reason, RAISE)
    if run.reason.startswith(PAUSED_FOR_MAINTENANCE):
        return Alert(run, run.reason, "")
    return Alert(run, run.reason, RESUME)
