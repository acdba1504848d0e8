"""Which run another one is measured against."""

from typing import Any

from django.db.models import QuerySet

from runs.models import Configuration, Run, RunGate, RunState
from runs.selectors.comparing.sides import scorers_of
from workers.engine.kinds import read_configuration

COMPARABLE = (RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS)
MOST_LOOKED_AT = 20  # runs of the same name, when the newest ones have other scorers


def newest_like(runs: QuerySet[Run], document: dict[str, Any], before: int | None) -> Run | None:
    """The newest complete run of the same name with the same scorers; before the run given."""
    named = runs.filter(state__in=COMPARABLE, name=document.get("name"))
    if before is not None:
        named = named.filter(pk__lt=before)
    newest = named.order_by("-pk")[:MOST_LOOKED_AT]
    return next((run for run in newest if has_scorers_of(run, document)), None)


def has_scorers_of(run: Run, document: dict[str, Any]) -> bool:
    return scorers_of(read_configuration(run.document)) == scorers_of(read_configuration(document))


def not_compared_with(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Without the baselines of configurations, and of gates that are not judged yet."""
    stored = Configuration.objects.exclude(baseline=None).values("baseline")
    waiting = RunGate.objects.filter(judged=None).exclude(baseline=None).values("baseline")
    return runs.exclude(pk__in=stored).exclude(pk__in=waiting)
