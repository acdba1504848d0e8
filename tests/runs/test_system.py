"""The System page: processes, stores and accidents as they are, and maintenance for everybody."""

import json
import re
from pathlib import Path

import pytest
import redis
from django.core.management import call_command
from django.urls import reverse

from runs.models import Chunk, ChunkState, Maintenance, Run, RunEvent, RunState
from runs.selectors.health import NO_WORKER, find_troubles
from runs.selectors.metrics import read_metrics
from runs.selectors.runs.snapshot import take_snapshot
from runs.selectors.system.accidents import LOST_WORKER
from runs.selectors.worker_beats import ALIVE_SECONDS, STORAGE_FULL_MARK, facts_key
from runs.services.chunks.recovery import sweep
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run
from tests.harness.factories import (
    add_score,
    beat,
    client_of,
    make_dataset,
    make_endpoint,
    make_run,
)
from tests.runs.conftest import show
from tests.runs.test_pauses import state_of
from workers.engine.errors import ConfigurationError

pytestmark = pytest.mark.django_db

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana.json"


@pytest.fixture
def run(alice, dataset):
    return make_run(alice, dataset, state=RunState.RUNNING, ended=None)


def page_of(person):
    return " ".join(re.sub(r"<[^>]+>", " ", show(person, "system")).split())


@pytest.mark.postgresql("vendor SQL: each database tells its size in its own way")
def test_the_page_tells_of_workers_and_what_they_hold(ada, run, settings):
    beat("east:4711:a1b2c3", "west:12:d4e5f6")
    facts = {"version": "0.0.1 (old)", "started": 1_700_000_000.0, "peak_megabytes": 321}
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.set(facts_key("east:4711:a1b2c3"), json.dumps(facts))
    Chunk.objects.create(
        run=run, start=0, trials=[], state=ChunkState.LEASED, owner="east:4711:a1b2c3"
    )
    Chunk.objects.create(run=run, start=1, trials=[], state=ChunkState.PENDING)
    page = page_of(ada)
    assert "2 workers of 2 expected" in page
    told = "east pid 4711 worker 0.0.1 (old) other than this page; restart it"
    assert told in page
    assert re.search(r" 1 \d s ago 321 MB west pid 12 worker – – 0 \d s ago –", page)
    assert "1 for a worker, 0 for a model that fails" in page


def test_without_redis_the_page_says_so_and_the_strip_says_nothing_else(ada, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    page = page_of(ada)
    assert "Redis does not answer, so nobody knows which workers live" in page
    assert "does not answer, or does not tell" in page
    assert "Redis does not answer" in troubles()
    assert len(find_troubles()) == 1


def test_what_went_wrong_by_itself_is_listed_and_the_dashboard_asks_for_what_there_is(ada, run):
    RunEvent.objects.create(run=run, message=f"{LOST_WORKER}; 1 chunk is handed to another one.")
    why = {"error_class": "poison", "error_message": "Its worker died 3 times."}
    failed = add_score(run, run.dataset.cases.first(), run.candidates.get(), 0, **why)
    page = client_of(ada).get(reverse("system")).text
    assert "handed to another one" in page
    assert "Its worker died 3 times." in page
    assert reverse("trial_rerun", args=[run.pk, failed.position]) in page
    names = {f"{one.name}_total" if one.is_total else one.name for one in read_metrics()}
    asked = set(re.findall(r"evalsite_\w+", DASHBOARD.read_text()))
    assert asked <= names
    assert len(names - asked) <= 1, "a number that no panel shows"


def test_maintenance_pauses_what_goes_on_and_only_that_goes_on_again(ada, alice, run, capsys):
    own = make_run(alice, make_dataset(alice, "other"), state=RunState.RUNNING, ended=None)
    pause_run(own, alice)
    browser = client_of(ada)
    browser.post(reverse("maintenance"), {"do": "begin", "reason": "a new disk"})
    reasons = dict(Run.objects.values_list("pk", "reason"))
    assert state_of(run) == RunState.PAUSED
    assert reasons[run.pk] == "Paused for maintenance by ada: a new disk"
    assert reasons[own.pk] == "Paused by alice"
    assert "ada paused all runs. a new disk. They go on" in find_troubles()[0].advice
    with pytest.raises(ConfigurationError, match="go on by themselves when it ends"):
        resume_run(run, alice)
    Run.objects.filter(pk=own.pk).update(state=RunState.RUNNING, reason="")
    sweep()  # whichever door let it go on
    assert state_of(own) == RunState.PAUSED
    told = browser.post(reverse("maintenance"), {"do": "end"}, follow=True).text
    assert "Maintenance is over; 2 runs went on." in told
    assert state_of(run) == state_of(own) == RunState.RUNNING
    assert not Maintenance.objects.exists()
    told = browser.post(reverse("maintenance"), {"do": "end"}, follow=True).text
    assert "There was no maintenance." in told
    call_command("maintenance", "begin", user="ada", reason="an update")
    call_command("maintenance", "show")
    assert state_of(run) == RunState.PAUSED
    call_command("maintenance", "end", user="ada")
    call_command("maintenance", "end", user="ada")
    assert capsys.readouterr().out.splitlines() == [
        "There is maintenance by ada: an update.",
        "There is maintenance by ada: an update.",
        "Maintenance is over; 2 runs went on.",
        "There was no maintenance.",
    ]


# --- The health strip: silent when all is well, else it names what is wrong and what to do


@pytest.fixture(autouse=True)
def store(settings):
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        yield client


def troubles():
    return "\n".join(f"{found.what}. {found.advice}" for found in find_troubles())


def test_without_workers_every_page_says_what_waits_and_what_to_do(alice, dataset, browser):
    assert "No worker is running. Start one with manage.py work." in troubles()
    make_run(alice, dataset, state=RunState.QUEUED, started=None, ended=None)
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None)
    Chunk.objects.create(run=run, start=0, trials=[])
    assert "1 queued run and 1 chunk wait. Start one" in troubles()
    states = (RunState.QUEUED, RunState.RUNNING)
    runs = [make_run(alice, dataset, state=state, ended=None) for state in states]
    assert [take_snapshot(run)["text"]["eta"] for run in runs] == [NO_WORKER] * 2
    beat("one")
    assert NO_WORKER not in [take_snapshot(run)["text"]["eta"] for run in runs]
    beat("one", seconds_ago=ALIVE_SECONDS + 1)
    page = browser.get(reverse("datasets")).text
    assert 'data-health="trouble"' in page
    assert "Start one with manage.py work." in page
    beat("one", "two")
    assert browser.get(reverse("health")).content.strip() == b""
    page = browser.get(reverse("datasets")).text
    assert 'data-address="/health/" hidden' in page


def test_nothing_is_said_when_all_is_well_else_silent_workers_open_breakers_and_no_room(store):
    beat("one", "two")
    assert find_troubles() == []
    beat("two", seconds_ago=ALIVE_SECONDS + 1)
    assert "1 of 2 workers is running. Start another with manage.py work" in troubles()
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
