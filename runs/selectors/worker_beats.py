"""Which workers live: each says so every few seconds in one sorted set of Redis, by its clock."""

import redis

from runs.selectors.endpoints.permit_state import open_redis

BEATS = "workers:beats"
STORAGE_FULL_MARK = "workers:storage_full"  # by a worker whose results found no room
ALIVE_SECONDS = 10  # a worker that was silent for longer is taken for dead


def count_workers() -> int | None:
    """None when Redis does not answer: then nobody knows."""
    try:
        with open_redis() as client:
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
