"""Which workers live: each says so every few seconds in one sorted set of Redis, by its clock."""

import json
from typing import Any, NamedTuple

import redis

from runs.selectors.endpoints.permit_state import TIMEOUT_SECONDS, open_redis

BEATS = "workers:beats"
STORAGE_FULL_MARK = "workers:storage_full"  # by a worker whose results found no room
ALIVE_SECONDS = 10  # a worker that was silent for longer is taken for dead


def facts_key(name: str) -> str:
    """What a worker says of itself with every beat."""
    return f"workers:facts:{name}"


class Beat(NamedTuple):
    """A worker that lives, as it says."""

    name: str  # host:pid:letters
    seconds_ago: float
    facts: dict[str, Any]  # version, started, peak_megabytes


def read_workers() -> list[Beat] | None:
    """By name; None when Redis does not answer."""
    try:
        with open_redis() as client:
            seconds, _ = client.time()
            since = seconds - ALIVE_SECONDS
            beats: Any = client.zrangebyscore(BEATS, since, "+inf", withscores=True)
            names = [name.decode() for name, _ in beats]
            told = client.mget([facts_key(name) for name in names]) if names else []
    except (redis.RedisError, OSError):
        return None
    return sorted(
        Beat(name, max(seconds - at, 0.0), json.loads(facts) if facts else {})
        for name, (_, at), facts in zip(names, beats, told, strict=True)
    )


def count_workers(within_seconds: float = TIMEOUT_SECONDS) -> int | None:
    """None when Redis does not answer: then nobody knows."""
    try:
        with open_redis(within_seconds) as client:
            seconds, _ = client.time()
            return int(client.zcount(BEATS, seconds - ALIVE_SECONDS, "+inf"))
    except (redis.RedisError, OSError):
        return None


def is_storage_full() -> bool:
    """Whether a worker said so a few seconds ago; False when nobody knows."""
    try:
        with open_redis() as client:
            return bool(client.exists(STORAGE_FULL_MARK))
    except (redis.RedisError, OSError):
        return False
