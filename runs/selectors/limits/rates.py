"""How fast a run goes: one definition for its page, the list of runs and the API.

"Now" is a window that fits the run. A provider that answers hundreds a second is judged by its last
five seconds; a local model that takes half a minute a call by its last ten answers, or it would
seem to stand still between two of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db.models import F, Q, Window
from django.db.models.functions import RowNumber

from runs.models import Run, RunSample, RunState
from runs.selectors.limits.limits import WAITING

RECENT_SECONDS = 5.0  # the shortest window
RECENT_ANSWERS = 10  # fewer say little about a rate
NEWEST = 12  # seconds with answers: these many always hold the window, whatever the rate
LONGEST_SECONDS = 3600  # answers that are older say nothing about now
HAS_ANSWERS = Q(fresh__gt=0) | Q(cached__gt=0) | Q(failed__gt=0)


class Answered(NamedTuple):
    """Trials that ended in one second of a run."""

    second: int
    trials: int


def is_working(run: Run) -> bool:
    """Whether calls may be under way: it has started and is neither held, waiting nor over."""
    if run.started is None or run.is_finished or run.state == RunState.PAUSED:
        return False
    return not run.reason.startswith(WAITING)


def recent_rate(run: Run, newest: Sequence[Answered], now: datetime) -> float | None:
    """Trials a second just now, None where nothing can go on."""
    return rate_over(newest, run.running_seconds(now)) if is_working(run) else None


def rate_over(newest: Sequence[Answered], elapsed: float) -> float:
    """From the newest seconds with answers, newest first: over the shortest window that begins
    after one of them and is long enough. A stalled run's rate falls as its window grows."""
    trials = 0
    for second, more in newest:
        window = elapsed - (second + 1)
        if window > LONGEST_SECONDS:
            break
        if trials >= RECENT_ANSWERS and window >= RECENT_SECONDS:
            return trials / window
        trials += more
    return trials / min(max(elapsed, 0.5), LONGEST_SECONDS)


def mean_rate(run: Run, now: datetime) -> float | None:
    """Of trials of all roles, as the samples count them."""
    elapsed = run.running_seconds(now)
    return (run.done + run.told("done")) / elapsed if elapsed else None


def newest_of(samples: Sequence[RunSample]) -> list[Answered]:
    """Of one run's samples, oldest first."""
    counts = (Answered(one.second, one.fresh + one.cached + one.failed) for one in samples[::-1])
    found: list[Answered] = []
    for each in counts:
        if each.trials:
            found.append(each)
        if len(found) == NEWEST:
            break
    return found


def read_newest(runs: Iterable[Run], now: datetime) -> Mapping[int, list[Answered]]:
    """By run, newest first; one question for all runs that work."""
    windows = [
        Q(run_id=run.pk, second__gte=run.running_seconds(now) - LONGEST_SECONDS - 1)
        for run in runs
        if is_working(run)
    ]
    if not windows:
        return {}
    samples = RunSample.objects.filter(HAS_ANSWERS).filter(reduce(or_, windows))
    numbered = samples.annotate(
        place=Window(RowNumber(), partition_by=F("run_id"), order_by=F("second").desc()),
        trials=F("fresh") + F("cached") + F("failed"),
    ).filter(place__lte=NEWEST)
    found: dict[int, list[Answered]] = {}
    for run_id, second, trials in numbered.order_by("run_id", "-second").values_list(
        "run_id", "second", "trials"
    ):
        found.setdefault(run_id, []).append(Answered(second, trials))
    return found
