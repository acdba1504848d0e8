"""Removes answers from the shared cache, a thousand at a time."""

import logging

from django.db import transaction

from runs.models import AuditAction
from runs.selectors.cache_page import Pruning, matching
from runs.services.audit import Subject, record

logger = logging.getLogger(__name__)

BATCH = 1000  # one transaction each: workers can write in between
MOST_AT_ONCE = 100_000  # in one web request; the command has no such bound


def prune_cache(selection: Pruning, most: int | None = None) -> int:
    """Remove what fits, at most about `most`. Runs keep their scores; only later calls cost."""
    removed = 0
    try:
        while most is None or removed < most:
            keys = list(matching(selection).values_list("key", flat=True)[:BATCH])
            if not keys:
                break
            with transaction.atomic():  # asked again: an answer may have been refreshed meanwhile
                removed += matching(selection).filter(key__in=keys).delete()[0]
    finally:  # what is removed is removed, also when the rest fails
        told = f"{removed:,} answers: {selection.text}"
        record(AuditAction.CACHE_CLEARED, Subject("cache"), told)
    logger.info("%s cached answers were removed: %s", removed, selection)
    return removed
