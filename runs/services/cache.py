"""Removes answers from the shared cache, a thousand at a time."""

import logging

from django.db import transaction

from runs.selectors.cache_page import Pruning, matching

logger = logging.getLogger(__name__)

BATCH = 1000  # one transaction each: workers can write in between
MOST_AT_ONCE = 100_000  # in one web request; the command has no such bound


def prune_cache(selection: Pruning, most: int | None = None) -> int:
    """Remove what fits, at most about `most`. Runs keep their scores; only later calls cost."""
    removed = 0
    while most is None or removed < most:
        keys = list(matching(selection).values_list("key", flat=True)[:BATCH])
        if not keys:
            break
        with transaction.atomic():  # asked again: an answer may have been refreshed meanwhile
            removed += matching(selection).filter(key__in=keys).delete()[0]
    logger.info("%s cached answers were removed: %s", removed, selection)
    return removed
