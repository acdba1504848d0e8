"""Looks answers up in the shared cache, many keys at once."""

from collections.abc import Sequence

from runs.models import CachedReply
from workers.engine.records import Reply

KEYS_PER_QUERY = 500


def find_replies(keys: Sequence[str]) -> dict[str, Reply]:
    found: dict[str, Reply] = {}
    for start in range(0, len(keys), KEYS_PER_QUERY):
        rows = CachedReply.objects.filter(key__in=keys[start : start + KEYS_PER_QUERY])
        for key, text, latency_ms, tokens_in, tokens_out in rows.values_list(
            "key", "text", "latency_ms", "tokens_in", "tokens_out"
        ):
            found[key] = Reply(text, latency_ms, tokens_in, tokens_out, cached=True)
    return found


def cached_among(keys: Sequence[str]) -> set[str]:
    """Which of the keys have an answer, without reading the answers."""
    found: set[str] = set()
    for start in range(0, len(keys), KEYS_PER_QUERY):
        rows = CachedReply.objects.filter(key__in=keys[start : start + KEYS_PER_QUERY])
        found.update(rows.values_list("key", flat=True))
    return found
