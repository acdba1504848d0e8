"""Removes old finished runs with all that belongs to them, a few rows at a time; and old rows of
the audit table, which nothing else can.

Each part is a short transaction of its own, so that workers can write in between; what is cut off
in the middle is taken up by the next call, because the run itself goes last.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from runs.models import (
    ANSWER_TABLES,
    AuditAction,
    AuditEntry,
    Candidate,
    Chunk,
    Override,
    Run,
    RunEvent,
    RunSample,
    RunState,
    Score,
    ScoreRecord,
    WebhookDelivery,
)
from runs.selectors.runs.baselines import not_compared_with
from runs.services.audit import record
from runs.services.quotas import keep_spent
from runs.services.removing.archiving import remove_unused_made_cases

logger = logging.getLogger(__name__)

BATCH = 250  # a transaction of 1,000 held up writers for half a second on a busy machine
# In the order that their references allow.
BELONGINGS: tuple[type[models.Model], ...] = (
    Override,
    ScoreRecord,
    Score,
    Chunk,
    RunSample,
    RunEvent,
    WebhookDelivery,
    Candidate,
)


def runs_ended_before(moment: datetime) -> QuerySet[Run]:
    """Never a live one: those have not ended, and a retried one has no end any more. Nor one that
    others are compared with, however old it is."""
    ended = Run.objects.exclude(state__in=RunState.live()).filter(ended__lt=moment)
    return not_compared_with(ended)


def due_runs() -> QuerySet[Run]:
    """Deleted ones whose time to be brought back is over. None that somebody retried meanwhile."""
    return Run.objects.exclude(state__in=RunState.live()).filter(remove_after__lte=Now())


def count_old(moment: datetime) -> tuple[int, int]:
    """How many runs would go, and how many scores with them."""
    old = runs_ended_before(moment)
    return old.count(), Score.objects.filter(run__in=old).count()


def prune_runs(moment: datetime) -> int:
    """Remove what ended before. Cached answers stay: they are of use to later runs."""
    removed = 0
    old, why = runs_ended_before(moment), f"ended before {moment:%Y-%m-%d %H:%M} UTC"
    for run_id in old.order_by("pk").values_list("pk", flat=True):
        removed += remove_run(run_id, old, why, free_some_answers)
    remove_unused_made_cases()
    logger.info("%s runs that ended before %s were removed.", removed, moment)
    return removed


def remove_run(
    run_id: int, among: QuerySet[Run], why: str, settle_answers: Callable[[int], int]
) -> int:
    """With all that belongs to it, while it is one of these. `settle_answers` does with some of the
    cached answers that it paid for what becomes of them."""
    for model in BELONGINGS:
        while _remove_some(model, run_id, among):
            pass
    while settle_answers(run_id):
        pass
    return _remove_itself(run_id, among, why)


def remove_part(
    run_id: int, among: QuerySet[Run], why: str, settle_answers: Callable[[int], int]
) -> bool:
    """The next few rows of a run, at last itself. False if nothing of it is left, or it is none of
    these any more."""
    if not among.filter(pk=run_id).exists():
        return False
    some = any(_remove_some(model, run_id, among) for model in BELONGINGS)
    return some or bool(settle_answers(run_id)) or bool(_remove_itself(run_id, among, why))


@transaction.atomic
def _remove_itself(run_id: int, among: QuerySet[Run], why: str) -> int:
    run = among.select_for_update().filter(pk=run_id).first()
    if run is None:
        return 0
    record(AuditAction.RUN_REMOVED, run, why)
    keep_spent(run)
    run.delete()
    return 1


@transaction.atomic
def _remove_some(model: type[models.Model], run_id: int, among: QuerySet[Run]) -> int:
    """Looks again each time: somebody may have retried the run meanwhile."""
    if not among.select_for_update().filter(pk=run_id).exists():
        return 0
    rows = model._default_manager.filter(run_id=run_id)
    return rows.filter(pk__in=list(rows.values_list("pk", flat=True)[:BATCH])).delete()[0]


@transaction.atomic
def delete_some_answers(run_id: int) -> int:
    return sum(some.delete()[0] for some in _some_answers(run_id))


@transaction.atomic
def free_some_answers(run_id: int) -> int:
    return sum(some.update(run=None) for some in _some_answers(run_id))


def _some_answers(run_id: int) -> Iterator[QuerySet[Any]]:
    """Of those that it paid for; also of those that were removed and can be brought back."""
    for model in ANSWER_TABLES:
        paid = model._default_manager.filter(run_id=run_id)
        yield paid.filter(key__in=list(paid.values_list("key", flat=True)[:BATCH]))


def prune_audit() -> int:
    """Remove some of what is older than EVALSITE_AUDIT_DAYS, past the model that refuses it. Every
    sweep asks, so a large heap goes in a few of them; who asks finds nothing by an index."""
    old = AuditEntry.objects.filter(at__lt=Now() - timedelta(days=settings.AUDIT_DAYS))
    keys = list(old.order_by("at").values_list("pk", flat=True)[:BATCH])
    if not keys:
        return 0
    gone: QuerySet[AuditEntry] = QuerySet(AuditEntry).filter(pk__in=keys)
    return int(gone._raw_delete(gone.db))
