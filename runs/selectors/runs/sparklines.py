"""The last minute of runs under way, for a picture as small as a word."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import F, Q

from runs.models import Run, RunSample
from runs.selectors.limits.rates import HAS_ANSWERS, is_working

SECONDS = 60
PART_SECONDS = 5


def last_minutes(runs: Iterable[Run], now: datetime) -> Mapping[int, list[int]]:
    """By run: trials that ended in each part, oldest first; one question for all that work."""
    begins = {run.pk: int(run.running_seconds(now)) - SECONDS for run in runs if is_working(run)}
    if not begins:
        return {}
    windows = (Q(run_id=pk, second__gt=begin) for pk, begin in begins.items())
    samples = RunSample.objects.filter(HAS_ANSWERS).filter(reduce(or_, windows))
    parts = {pk: [0] * (SECONDS // PART_SECONDS) for pk in begins}
    counted = samples.order_by().annotate(trials=F("fresh") + F("cached") + F("failed"))
    for pk, second, trials in counted.values_list("run_id", "second", "trials"):
        place = min((second - begins[pk] - 1) // PART_SECONDS, len(parts[pk]) - 1)
        parts[pk][place] += trials
    return parts
