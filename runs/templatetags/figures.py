"""Template filters over `runs.formatting`, so that pages and live frames write numbers alike."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django import template
from django.utils import timezone

from runs import formatting
from runs.models import Endpoint
from workers.engine.providers.known import known_provider_at
from workers.engine.statistics.paired import Difference

register = template.Library()

register.filter("count", formatting.count)
register.filter("exact_count", formatting.exact_count)
register.filter("about", formatting.about)
register.filter("counted", formatting.counted)
register.filter("percent", formatting.percent)
register.filter("duration", formatting.duration)
register.filter("milliseconds", formatting.milliseconds)
register.filter("rate", formatting.rate)
register.filter("short_dollars", formatting.short_dollars)
register.filter("decimals", formatting.decimals)
register.filter("file_size", formatting.file_size)
register.filter("score", formatting.score)
register.filter("signed", formatting.signed)
register.filter("digits", formatting.digits)
register.filter("dollars", formatting.dollars)
register.filter("score_interval", formatting.score_interval)
register.filter("excerpt", formatting.excerpt)


@register.filter
def last_part(name: Any) -> str:
    """Of a model whose name is a path, as google/gemma-3 or /models/llama.gguf."""
    return str(name).rstrip("/").rpartition("/")[2] or str(name)


@register.filter
def provider_title(endpoint: Endpoint) -> str:
    """Whose it is, where its address tells; else the protocol that it speaks."""
    known = known_provider_at(endpoint.base_url)
    return known.title if known else str(endpoint.get_kind_display())


@register.filter
def signed_interval(difference: Difference) -> str:
    """−0.05 to +0.01."""
    return formatting.signed_interval(difference.low, difference.high)


@register.filter
def without(text: str, prefix: str) -> str:
    """Names of combinations without the endpoint that all their models share."""
    return formatting.without_endpoint(text, prefix)


@register.filter
def named_in(key: str, names: Mapping[str, str]) -> str:
    """What a table of names calls it; one that is not there stays as it is."""
    return names.get(key, key)


@register.filter
def words(name: str) -> str:
    """An identifier as a person reads it: server_error becomes "server error"."""
    return name.replace("_", " ")


@register.filter
def ago(moment: datetime | None) -> str:
    """How long ago, in one unit: "12 s ago", "3 min ago", "5 h ago", then the date."""
    if moment is None:
        return formatting.NOTHING
    seconds = max((timezone.now() - moment).total_seconds(), 0)
    if seconds < 60:
        return f"{seconds:.0f} s ago"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 24 * 3600:
        return f"{seconds // 3600:.0f} h ago"
    if seconds < 7 * 24 * 3600:
        return f"{seconds // 86400:.0f} d ago"
    there = timezone.localtime(moment)
    return f"{there.day} {there:%b %Y}"
