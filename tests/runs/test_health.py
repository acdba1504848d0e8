"""The health strip: silent when all is well, else it names what is wrong and what to do."""

import pytest
import redis
from django.urls import reverse

from runs.models import Chunk, RunState
from runs.selectors.health import NO_WORKER, find_troubles
from runs.selectors.runs.snapshot import take_snapshot
from runs.selectors.worker_beats import ALIVE_SECONDS, STORAGE_FULL_MARK
from tests.harness.factories import beat, client_of, make_endpoint, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def store(settings):
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        yield client


def troubles():
    return "\n".join(f"{found.what}. {found.advice}" for found in find_troubles())


def test_nothing_is_said_when_all_is_well_and_a_silent_worker_does_not_count():
    beat("one", "two")
    assert find_troubles() == []
    beat("two", seconds_ago=ALIVE_SECONDS + 1)
    assert "1 of 2 workers is running. Start another with manage.py work" in troubles()


def test_without_workers_it_says_what_waits_and_what_to_do(alice, dataset):
    assert "No worker is running. Start one with manage.py work." in troubles()
    make_run(alice, dataset, state=RunState.QUEUED, started=None, ended=None)
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    Chunk.objects.create(run=run, start=0, trials=[])
    assert "1 queued run and 1 chunk wait. Start one" in troubles()


def test_an_open_breaker_is_named_with_its_page_and_no_room_is_said_first(store):
    beat("one", "two")
    endpoint = make_endpoint("openai-main")
    store.hset(f"permits:state:endpoint:{endpoint.pk}/sim-small", "rest", 15_000)
    (found,) = find_troubles()
    assert found.what == "A model is failing"
    assert "openai-main/sim-small" in found.advice
    assert found.address == endpoint.get_absolute_url()
    store.hset(f"permits:state:endpoint:{endpoint.pk}/sim-large", "rest", 15_000)
    assert "2 models are failing" in troubles()
    store.set(STORAGE_FULL_MARK, "one")
    found, _ = find_troubles()
    assert (found.what, "make room, then resume" in found.advice) == ("Storage is full", True)


def test_redis_away_is_the_one_thing_that_is_said(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert "Redis does not answer" in troubles()
    assert len(find_troubles()) == 1


def test_a_run_that_waits_for_nobody_says_so(alice, dataset):
    states = (RunState.QUEUED, RunState.RUNNING)
    runs = [make_run(alice, dataset, state=state, ended=None) for state in states]
    assert [take_snapshot(run)["text"]["eta"] for run in runs] == [NO_WORKER] * 2
    beat("one")
    assert NO_WORKER not in [take_snapshot(run)["text"]["eta"] for run in runs]


def test_every_page_shows_it_and_can_ask_for_it_alone(alice):
    client = client_of(alice)
    page = client.get(reverse("datasets")).content.decode()
    assert 'data-health="trouble"' in page
    assert "Start one with manage.py work." in page
    beat("one", "two")
    assert client.get(reverse("health")).content.strip() == b""
    page = client.get(reverse("datasets")).content.decode()
    assert 'data-address="/health/" hidden' in page
