"""What no test may inherit from another one of its process."""

import fnmatch
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.timezone import now

from evalsite import settings as site_settings
from runs.models import Dataset, Endpoint
from runs.roles import Role
from runs.selectors import health
from runs.services import connection
from runs.services.chunks import leases
from runs.services.people import provider_protocol
from tests.harness.factories import make_dataset, make_endpoint, make_person
from tests.harness.patience import PATIENCE_SECONDS
from workers import messenger
from workers.engine.http import client as http_client
from workers.engine.named.options import schema_of

ROOT = Path(__file__).parents[1]


@cache
def shared_redis() -> Any:  # by its own types every answer may be bytes, text or a list
    return redis.Redis.from_url(settings.REDIS_URL)


@cache
def known_keys() -> re.Pattern[str]:
    """Of the uses of Redis that compose.yaml opens to the site."""
    users = (ROOT / "deploy" / "redis_users.conf").read_text()
    patterns = {fnmatch.translate(one) for one in re.findall(r" (?:%R)?~(\S+)", users)}
    return re.compile("|".join(patterns))


@pytest.fixture
def real_hashers(settings: Any) -> None:
    """Those of the site, instead of the tests' quick one."""
    settings.PASSWORD_HASHERS = site_settings.PASSWORD_HASHERS


@pytest.fixture
def still_clock(time_machine: Any) -> None:
    """The same moment from the first line of a test to its last; Redis has a clock of its own."""
    time_machine.move_to(now(), tick=False)


@pytest.fixture
def remembered_health() -> Iterator[None]:
    """Asked for once: else its queries are now and then among those that a test counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(health, "REMEMBERED_SECONDS", PATIENCE_SECONDS)
        yield


@pytest.fixture
def patient_calls() -> Iterator[None]:
    """Calls over real HTTP have as long as a machine with other things to do may take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_client, "CONNECT_SECONDS", PATIENCE_SECONDS)
        for module in (messenger, provider_protocol):
            patch.setattr(module, "DEADLINE_SECONDS", PATIENCE_SECONDS)
        for ask in (connection.check_connection, connection.ask_for_models):
            patch.setattr(ask, "__defaults__", (PATIENCE_SECONDS,))
        yield


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """An empty Redis, and no memory of another test's runs, whose numbers are the same."""
    shared_redis().flushall()
    health.forget_troubles()
    leases.load_parts.cache_clear()
    yield
    names = [key.decode() for key in shared_redis().scan_iter(count=1000)]
    unknown = [name for name in names if not known_keys().match(name)]
    assert unknown == [], "Add the prefix of these keys to deploy/redis_users.conf."


@pytest.fixture(autouse=True)
def _template_string_if_invalid_marker() -> None:
    """Instead of pytest-django's, which asks for `monkeypatch` in every test, for a marker that
    none has here. With it the next fixture would make the schemas anew in every test."""


@pytest.fixture(autouse=True)
def schemas_as_they_are(request: pytest.FixtureRequest) -> Iterator[None]:
    """The schema of a scorer that holds others says which there are. Only tests that patch, or
    install plug-ins, change that; for all others the schemas are made once, which takes seconds."""
    changes = "monkeypatch" in request.fixturenames or hasattr(request.module, "PLUGINS")
    if changes:
        schema_of.cache_clear()
    yield
    if changes:
        schema_of.cache_clear()


@pytest.fixture
def set_constant() -> Iterator[Any]:
    """For one test. Unlike `monkeypatch` it keeps the schemas of scorers, which take seconds."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch.setattr


@pytest.fixture
def alice(db: None) -> User:
    """A runner: what a test is about is hers."""
    return make_person("alice")


@pytest.fixture
def bob(db: None) -> User:
    """Another runner, to whom nothing belongs."""
    return make_person("bob")


@pytest.fixture
def ada(db: None) -> User:
    """The administrator."""
    return make_person("ada", staff=True, role=Role.ADMIN)


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    """The simulated provider of every document that `run_document` writes."""
    return make_endpoint()


@pytest.fixture
def dataset(alice: User, endpoint: Endpoint) -> Dataset:
    """Three sums of Alice's."""
    return make_dataset(alice)
