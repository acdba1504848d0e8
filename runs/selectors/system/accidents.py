"""What the sweep had to do: leases of lost workers, and trials that killed theirs."""

from datetime import timedelta
from typing import NamedTuple

from django.db.models import QuerySet
from django.utils.timezone import now

from runs.models import Run, RunEvent, Score
from workers.engine.errors import Poison

LOST_WORKER = "A worker was lost"  # how runs/services/chunks/recovery.py begins its note
LOOKED_BACK = timedelta(days=7)
MOST_SHOWN = 20


class Accidents(NamedTuple):
    lost: list[RunEvent]  # the newest, of the last days
    lost_count: int
    given_up: list[Score]  # trials whose workers died again and again
    given_up_count: int


def read_accidents(runs: QuerySet[Run]) -> Accidents:
    """Of the runs that the person may see."""
    events = RunEvent.objects.filter(
        run__in=runs, at__gte=now() - LOOKED_BACK, message__startswith=LOST_WORKER
    )
    poison = Score.objects.filter(run__in=runs, error_class=Poison.name)
    return Accidents(
        list(events.select_related("run")[:MOST_SHOWN]),
        events.count(),
        list(poison.select_related("run").order_by("-pk")[:MOST_SHOWN]),
        poison.count(),
    )
