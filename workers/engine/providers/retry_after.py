"""Reads how long a provider wants us to wait."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from retry-after-ms or Retry-After (seconds or a date); None if unsaid."""
    milliseconds = read_number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = read_number(text)
    if seconds is not None or text is None:
        return seconds
    return seconds_until(text, headers.get("date"))


def read_number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


def seconds_until(date: str, server_date: str | None) -> float | None:
    """Measured against the server's own clock if it tells it, else against ours."""
    try:
        until = parsedate_to_datetime(date)
        now = parsedate_to_datetime(server_date) if server_date else datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError, OverflowError):  # the last for years that no calendar has
        return None
