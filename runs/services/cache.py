"""Removes answers from the shared cache, a few at a time, and brings them back."""

import logging
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models.functions import Now

from runs.formatting import counted
from runs.models import AuditAction, CachedReply, RemovedReply
from runs.selectors.cache_page import Pruning, matching
from runs.services.audit import Subject, record
from runs.services.chunks.inserting import insert_rows, moment
from runs.services.chunks.recording import REPLY_FIELDS
from runs.services.removing.archiving import removal_date, until

logger = logging.getLogger(__name__)

BATCH = 500  # one transaction each: workers can write in between
MOST_AT_ONCE = 100_000  # in one web request; the command has no such bound
CACHE = Subject("cache")
WHEN = REPLY_FIELDS.index("created")


class Pruned(NamedTuple):
    removed: int
    remove_after: datetime | None  # until then they can be brought back; None: they are gone


def prune_cache(selection: Pruning, most: int | None = None, *, for_good: bool = False) -> Pruned:
    """Remove what fits, at most about `most`. Runs keep their scores; only later calls cost."""
    removed, remove_after = 0, None if for_good else removal_date()
    try:
        while most is None or removed < most:
            keys = list(matching(selection).values_list("key", flat=True)[:BATCH])
            if not keys:
                break
            removed += _remove(keys, selection, remove_after)
    finally:  # what is removed is removed, also when the rest fails
        end = f", {until(remove_after)}" if remove_after else ", for good"
        record(
            AuditAction.CACHE_CLEARED, CACHE, f"{counted(removed, 'answer')}: {selection.text}{end}"
        )
    logger.info("%s cached answers were removed: %s", removed, selection)
    return Pruned(removed, remove_after if removed else None)


@transaction.atomic
def _remove(keys: list[str], selection: Pruning, remove_after: datetime | None) -> int:
    found = matching(selection).filter(key__in=keys)  # again: one may have been refreshed meanwhile
    if remove_after is not None:
        date = moment(remove_after)
        rows = [(*_as_stored(row), date) for row in found.values_list(*REPLY_FIELDS)]
        insert_rows(RemovedReply, (*REPLY_FIELDS, "remove_after"), rows, replace_on="key")
    return found.delete()[0]


def restore_answers(remove_after: datetime) -> int:
    """Those of one removal; tell how many. What was asked anew since is kept instead."""
    restored = 0
    try:
        while number := _restore_some(remove_after):
            restored += number
    finally:
        if restored:
            record(AuditAction.CACHE_RESTORED, CACHE, counted(restored, "answer"))
    return restored


@transaction.atomic
def _restore_some(remove_after: datetime) -> int:
    removed = RemovedReply.objects.select_for_update().filter(remove_after=remove_after)
    rows = list(removed.values_list(*REPLY_FIELDS)[:BATCH])
    keys = [row[0] for row in rows]
    kept = set(CachedReply.objects.filter(key__in=keys).values_list("key", flat=True))
    back = [_as_stored(row) for row in rows if row[0] not in kept]
    insert_rows(CachedReply, REPLY_FIELDS, back, replace_on="key")
    RemovedReply.objects.filter(key__in=keys).delete()
    return len(rows)


def remove_due_answers() -> None:
    """Some of those whose time to be brought back is over; every sweep asks."""
    due = RemovedReply.objects.filter(remove_after__lte=Now())
    if keys := list(due.values_list("key", flat=True)[:BATCH]):
        due.filter(key__in=keys).delete()


def _as_stored(row: tuple[object, ...]) -> tuple[object, ...]:
    """As `insert_rows` takes it."""
    created = row[WHEN]
    assert isinstance(created, datetime)
    return (*row[:WHEN], moment(created), *row[WHEN + 1 :])
