"""What a person may wish for in a fault test: a few lines each, through the site's services."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, connections
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from runs.models import CachedReply, Dataset, Endpoint, Scope
from runs.secrets import decrypt
from runs.selectors.health import find_troubles
from runs.services.datasets.storing import store_rows
from runs.services.endpoints import save_endpoint
from runs.services.people.tokens import create_token
from runs.services.runs import create_run
from tests.harness.factories import client_of
from workers.redis_flights import LINGER_SECONDS
from workers.simulator.demo import make_questions


def somebody(name: str = "ada") -> User:
    return User.objects.get_or_create(
        username=name, defaults={"is_staff": True, "is_superuser": True}
    )[0]


def make_endpoint(name: str, key: str, **fields: Any) -> None:
    save_endpoint(somebody(), Endpoint(name=name, **fields), key)


def change_endpoint(name: str, key: str | None = None, **fields: Any) -> None:
    endpoint = Endpoint.objects.get(name=name)
    for field, value in fields.items():
        setattr(endpoint, field, value)
    save_endpoint(somebody(), endpoint, key)


def make_dataset(name: str, rows: int, equal: bool = False, again: bool = False) -> None:
    """Once; or `again`, a new version whose rows are in another order."""
    if Dataset.objects.filter(name=name).exists() and not again:
        return
    questions = make_questions(1 if equal else rows)
    if again:
        questions = questions[::-1]
    kept = [questions[0 if equal else at]._asdict() for at in range(rows)]
    store_rows(somebody(), name, kept)


def launch(document: dict[str, Any], key: str = "") -> int:
    return int(create_run(somebody(), document, key).pk)


def launch_many_times(document: dict[str, Any], key: str, times: int) -> list[int]:
    """The same launch from as many threads at once."""
    owner = somebody()

    def once(_: int) -> int:
        try:
            return int(create_run(owner, document, key).pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(once, range(times)))


def read_key(name: str) -> str:
    """What a worker would send."""
    return decrypt(Endpoint.objects.get(name=name).key_ciphertext)


def forget_answers() -> None:
    """Also that equal calls have just landed, or who asks again would wait for their answers."""
    time.sleep(2 * LINGER_SECONDS)  # until the last have said so
    client = redis.Redis.from_url(settings.REDIS_URL)
    if landed := list(client.scan_iter("flight:*")):
        client.delete(*landed)
    CachedReply.objects.all().delete()


def make_token() -> str:
    return create_token(somebody(), "everything", list(Scope)).text


def troubles() -> list[str]:
    return [trouble.what for trouble in find_troubles()]


def undo_newest_migration() -> None:
    """One by one, as an older database was made; a new one is made in one step."""
    executor = MigrationExecutor(connection)
    executor.loader = MigrationLoader(connection, replace_migrations=False)
    names = sorted(name for app, name in executor.loader.graph.nodes if app == "runs")
    executor.migrate([("runs", names[-2])])


def session(name: str = "ada") -> dict[str, str]:
    """A signed-in browser's cookie."""
    cookies = client_of(somebody(name)).cookies
    return {cookie: morsel.value for cookie, morsel in cookies.items()}
