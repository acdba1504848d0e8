"""A clock that Redis has in some stories, a folder for keys, and a provider over HTTP."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from threading import Barrier

import pytest
import redis.asyncio
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.urls import reverse

from runs.kinds import SITE_KINDS
from runs.selectors.endpoints import permit_state
from tests.api.asking import Asker
from tests.harness.factories import client_of
from tests.toy_kind import SITE, Toy
from workers import redis_permits
from workers.engine.kinds import KINDS
from workers.engine.throttling.permits import LocalPermits
from workers.redis_permits import RedisPermits
from workers.simulator.testing import running_simulator


def at_once(*acts):
    """What each brings, in a thread of its own, all from the same moment on."""
    together = Barrier(len(acts))

    def begin(act):
        together.wait()
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(begin, acts))


def said_by(command, *words, **options):
    """What a command prints."""
    out = StringIO()
    call_command(command, *words, stdout=out, **options)
    return out.getvalue()


def words_of(answer):
    """What a page, or a file that is sent in parts, reads like: runs of blanks are one."""
    content = answer.getvalue() if answer.streaming else answer.content
    return " ".join(content.decode().split())


def show(person, name, *arguments, **query):
    """A page of the site as it is sent."""
    answer = client_of(person).get(reverse(name, args=arguments), query)
    assert answer.status_code == 200
    return answer.text


def page_of(person, run, **given):
    """The page of a run as a person reads it."""
    return " ".join(show(person, "run", run.pk, **given).split())


def exchange(quotas, demand, holder="worker"):
    """What a worker would say to Redis, and get."""

    async def talk():
        client = redis.asyncio.Redis.from_url(settings.REDIS_URL)
        permits = RedisPermits(client, holder, 1, LocalPermits(time.monotonic))
        grant = await permits.exchange(quotas, demand)
        await client.aclose()
        return grant

    return asyncio.run(talk())


@pytest.fixture
def data_folder(settings, tmp_path):
    """Of this test alone, and no private address is open."""
    settings.EVALSITE_DATA = tmp_path
    settings.ALLOWED_PRIVATE_ENDPOINTS = ()
    return tmp_path


@pytest.fixture(scope="session")
def shared_simulator():
    with running_simulator(latency_ms=0) as server:
        yield server


@pytest.fixture
def simulator(shared_simulator, settings, data_folder):
    """It has seen nothing yet and plays no faults; this test may call its address."""
    shared_simulator.reset()
    shared_simulator.play()
    settings.ALLOWED_PRIVATE_ENDPOINTS = (shared_simulator.url.removeprefix("http://"),)
    return shared_simulator


@pytest.fixture
def still_permits(set_constant):
    """Permits on a clock that stands still: no lease ends, no breaker rests enough, no rate has
    room again and no minute is over while a test says and reads them."""
    moment = int(time.time())
    known, ask = "redis.call('TIME')", permit_state.ask
    assert known in redis_permits.EXCHANGE

    def ask_at_that_moment(client, keys):
        return [(moment, 0), *ask(client, keys)[1:]]

    script = redis_permits.EXCHANGE.replace(known, f"{{{moment}, 0}}")
    set_constant(redis_permits, "EXCHANGE", script)
    set_constant(permit_state, "ask", ask_at_that_moment)


@pytest.fixture
def browser(alice):
    """Alice is signed in."""
    return client_of(alice)


@pytest.fixture
def asker(alice):
    """A script of Alice's."""
    return Asker(alice)


@pytest.fixture
def patch():
    """As `monkeypatch`, but the schemas of scorers are not made anew, which takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture
def toy(patch):
    """A kind that only the tests know, beside the others."""
    patch.setitem(KINDS, "toy", Toy)
    patch.setitem(SITE_KINDS, "toy", SITE)
