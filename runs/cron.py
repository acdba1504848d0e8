"""Due times of cron expressions, in a time zone."""

from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice, takewhile
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from workers.engine.errors import ConfigurationError, Problem

FIELDS = 5  # minute, hour, day of the month, month, day of the week
EXAMPLE = "as in 30 6 * * 1-5 for half past six on weekdays"


@lru_cache(maxsize=1)
def known_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def check_cron(cron: str, time_zone: str, now: datetime) -> None:
    """ConfigurationError says what is wrong."""
    problems = []
    if time_zone not in known_zones():
        told = "There is no such time zone. Give one as in Europe/Paris, or UTC."
        problems.append(Problem("time_zone", told))
    if len(cron.split()) != FIELDS:
        told = f"Give five fields: minute, hour, day, month and day of the week, {EXAMPLE}."
        problems.append(Problem("cron", told))
    if not problems:
        problems = _unreadable(cron, time_zone, now)
    if problems:
        raise ConfigurationError(problems)


def _unreadable(cron: str, time_zone: str, now: datetime) -> list[Problem]:
    try:
        next_due(cron, time_zone, now)
    except CronSimError as error:
        return [Problem("cron", f"{error}. Write it {EXAMPLE}.")]
    except StopIteration:
        return [Problem("cron", f"It is never due. Write it {EXAMPLE}.")]
    return []


def next_due(cron: str, time_zone: str, after: datetime) -> datetime:
    return next(CronSim(cron, after.astimezone(ZoneInfo(time_zone)))).astimezone(UTC)


def last_due(cron: str, time_zone: str, now: datetime) -> datetime:
    """The newest that is not in the future."""
    following = next_due(cron, time_zone, now)
    before = CronSim(cron, following.astimezone(ZoneInfo(time_zone)), reverse=True)
    return next(before).astimezone(UTC)


def count_due(cron: str, time_zone: str, first: datetime, until: datetime, most: int) -> int:
    """From a due time on, up to and with another moment; `most` is enough to know."""
    later = CronSim(cron, first.astimezone(ZoneInfo(time_zone)))
    found = takewhile(lambda due: due <= until, later)
    return 1 + sum(1 for _ in islice(found, most))


def in_words(cron: str) -> str:
    return str(CronSim(cron, datetime(2000, 1, 1, tzinfo=UTC)).explain())
