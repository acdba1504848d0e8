"""Looks answers up in the shared cache, many keys at once. What cannot be read is a miss."""

import logging
from collections.abc import Sequence

from django.db import DatabaseError

from runs.models import CachedReply
from workers.engine.calling.cache import checksum, stored_reply
from workers.engine.records import Reply

logger = logging.getLogger(__name__)

KEYS_PER_QUERY = 500


def find_replies(keys: Sequence[str]) -> dict[str, Reply]:
    found: dict[str, Reply] = {}
    for start in range(0, len(keys), KEYS_PER_QUERY):
        part = keys[start : start + KEYS_PER_QUERY]
        try:
            found |= read_replies(part)
        except DatabaseError:
            found |= read_one_by_one(part)
    return found


def read_replies(keys: Sequence[str]) -> dict[str, Reply]:
    rows = CachedReply.objects.filter(key__in=keys).values_list(
        "key", "text", "latency_ms", "tokens_in", "tokens_out", "truncated", "checksum"
    )
    replies = {key: check_reply(key, known, stored_reply(*values)) for key, *values, known in rows}
    return {key: reply for key, reply in replies.items() if reply is not None}


def check_reply(key: str, known: int | None, reply: Reply | None) -> Reply | None:
    """None, so that it is asked again, if it is not what was stored under this key."""
    if reply is None or known is None:  # stored when there were no checksums
        return reply
    if checksum(key, reply.text, reply.tokens_in, reply.tokens_out) == known:
        return reply
    logger.warning("The cached answer %s is damaged; it is asked for again.", key[:12])
    return None


def read_one_by_one(keys: Sequence[str]) -> dict[str, Reply]:
    """One damaged row fails the query for all: leave out only what fails on its own."""
    found: dict[str, Reply] = {}
    failures = 0
    for key in keys:
        try:
            found |= read_replies([key])
        except DatabaseError as error:
            failures += 1
            if failures == len(keys) > 1:
                raise  # not the rows: the database itself
            logger.warning("The cached answer %s cannot be read: %s", key[:12], error)
    return found


def cached_among(keys: Sequence[str]) -> set[str]:
    """Which of the keys have an answer, without reading the answers."""
    found: set[str] = set()
    for start in range(0, len(keys), KEYS_PER_QUERY):
        rows = CachedReply.objects.filter(key__in=keys[start : start + KEYS_PER_QUERY])
        found.update(rows.values_list("key", flat=True))
    return found
