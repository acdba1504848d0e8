"""What no test may inherit from another one of its process."""

import fnmatch
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import redis
from django.conf import settings

from runs.selectors.health import forget_troubles
from runs.services.chunks import leases

ROOT = Path(__file__).parents[1]


@cache
def shared_redis() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL)


@cache
def known_keys() -> re.Pattern[str]:
    """Of the uses of Redis that compose.yaml opens to the site."""
    users = (ROOT / "deploy" / "redis_users.conf").read_text()
    patterns = {fnmatch.translate(one) for one in re.findall(r" (?:%R)?~(\S+)", users)}
    return re.compile("|".join(patterns))


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """An empty Redis, and no memory of the runs and endpoints of another test's database, whose
    numbers are the same."""
    shared_redis().flushall()
    forget_troubles()
    leases.load_parts.cache_clear()
    yield
    names = [key.decode() for key in shared_redis().scan_iter(count=1000)]
    unknown = [name for name in names if not known_keys().match(name)]
    assert unknown == [], "Add the prefix of these keys to deploy/redis_users.conf."
