"""Reads what a provider says of its own limits in the headers of an answer."""

from collections.abc import Mapping

from workers.engine.providers.retry_after import read_number
from workers.engine.records import ToldLimits

# OpenAI's names and those of the many that copy it, then Anthropic's.
REQUESTS = ("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit")
TOKENS = (
    "x-ratelimit-limit-tokens",
    "anthropic-ratelimit-tokens-limit",
    "anthropic-ratelimit-input-tokens-limit",
)


def read_told_limits(headers: Mapping[str, str]) -> ToldLimits | None:
    """None if it says nothing, which is usual."""
    requests, tokens = _first(headers, REQUESTS), _first(headers, TOKENS)
    return ToldLimits(requests, tokens) if requests or tokens else None


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> int:
    for name in names:
        if number := read_number(headers.get(name)):
            return int(number)
    return 0
