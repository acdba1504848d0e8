"""What Redis and the database say of themselves, and how much waits in the queue."""

from pathlib import Path
from typing import Any, NamedTuple

import redis
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Count, Q

from runs.models import ChunkState, Run, RunState
from runs.open_sockets import key_of
from runs.selectors.endpoints.permit_state import open_redis
from workers.queue_names import QUEUES, redis_key

POSTGRESQL_FACTS = "SELECT current_setting('server_version'), pg_database_size(current_database())"


class RedisFacts(NamedTuple):
    version: str
    used_bytes: int
    most_bytes: int  # 0: no limit
    evicted: int
    keeps_on_disk: bool
    queued: int  # messages that no worker has taken
    live_pages: int  # over all people


class DatabaseFacts(NamedTuple):
    engine: str
    version: str
    stored_bytes: int
    waiting_bytes: int  # written by SQLite beside the file, and not yet into it


class Waiting(NamedTuple):
    runs: int
    chunks: int
    set_aside: int  # chunks that wait for a model that fails


def read_redis() -> RedisFacts | None:
    """None when it does not answer, or does not allow the question."""
    try:
        with open_redis() as client:
            facts: dict[str, Any] = client.info()
            queued = sum(client.llen(redis_key(name)) for name in QUEUES)
            pages = count_pages(client)
    except (redis.RedisError, OSError):
        return None
    return RedisFacts(
        version=str(facts.get("valkey_version") or facts.get("redis_version", "")),
        used_bytes=int(facts.get("used_memory", 0)),
        most_bytes=int(facts.get("maxmemory", 0)),
        evicted=int(facts.get("evicted_keys", 0)),
        keeps_on_disk=bool(facts.get("aof_enabled")),
        queued=queued,
        live_pages=pages,
    )


def count_pages(client: "redis.Redis") -> int:
    people = get_user_model().objects.filter(is_active=True).values_list("pk", flat=True)
    pipe = client.pipeline(transaction=False)
    for person in people:
        pipe.zcard(key_of(person))
    return sum(pipe.execute())


def read_database() -> DatabaseFacts:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(POSTGRESQL_FACTS)
            version, stored = cursor.fetchone()
        return DatabaseFacts("PostgreSQL", str(version), int(stored), 0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()")
        [version] = cursor.fetchone()
    path = Path(str(connection.settings_dict["NAME"]))
    return DatabaseFacts("SQLite", str(version), size_of(path), size_of(Path(f"{path}-wal")))


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # in memory, or not there yet
        return 0


def read_waiting() -> Waiting:
    """In one question: every page asks while workers are missing."""
    found = Run.objects.filter(state__in=RunState.going()).aggregate(
        queued=Count("pk", filter=Q(state=RunState.QUEUED), distinct=True),
        pending=Count("chunks", filter=Q(chunks__state=ChunkState.PENDING)),
        set_aside=Count("chunks", filter=Q(chunks__state=ChunkState.SET_ASIDE)),
    )
    return Waiting(found["queued"], found["pending"], found["set_aside"])
