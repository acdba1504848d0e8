"""What no test may inherit from another one of its process."""

from functools import cache

import pytest
import redis
from django.conf import settings

from runs.selectors.health import forget_troubles
from runs.services.chunks import leases


@cache
def shared_redis() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL)


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """An empty Redis, and no memory of the runs and endpoints of another test's database, whose
    numbers are the same."""
    shared_redis().flushall()
    forget_troubles()
    leases.load_parts.cache_clear()
