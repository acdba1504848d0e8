"""Pausing and resuming through the doors: who may, what is answered, what pages show."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Chunk, ChunkState, Run, RunState
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.chunks.leases import lease_chunk
from runs.services.chunks.planning import advance_run
from runs.services.control.endpoint_pauses import pause_endpoint
from runs.services.control.pauses import pause_run, settle_pause
from runs.services.control.resuming import resume_run
from tests.harness.factories import client_of, make_dataset, make_endpoint, make_person, make_run

pytestmark = pytest.mark.django_db

GOING = [RunState.QUEUED, RunState.STARTING, RunState.RUNNING, RunState.FINISHING]
ENDED = [RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS, RunState.FAILED, RunState.CANCELLED]


@pytest.fixture
def endpoint():
    return make_endpoint()


@pytest.fixture
def run(alice, endpoint):
    return make_run(alice, make_dataset(alice), state=RunState.RUNNING, ended=None)


def add_chunk(run, state):
    return Chunk.objects.create(run=run, start=run.chunks.count(), trials=[], state=state)


def state_of(run):
    return Run.objects.get(pk=run.pk).state


def test_every_state_is_going_held_or_ended():
    assert set(RunState) == {*RunState.going(), *RunState.held(), *ENDED}
    assert set(RunState.live()) == {*RunState.going(), *RunState.held()}


@pytest.mark.parametrize("state", GOING)
def test_what_goes_on_can_be_paused_and_resumed(run, alice, state):
    Run.objects.filter(pk=run.pk).update(state=state)
    assert pause_run(run, alice)
    assert state_of(run) == RunState.PAUSED  # nobody works on it
    assert not pause_run(run, alice)
    assert resume_run(run, alice)
    assert state_of(run) == RunState.RUNNING
    assert not resume_run(run, alice)


@pytest.mark.parametrize("state", ENDED)
def test_what_has_ended_is_neither_paused_nor_resumed(run, alice, state):
    Run.objects.filter(pk=run.pk).update(state=state)
    assert not pause_run(run, alice, now=True)
    assert not resume_run(run, alice)
    assert state_of(run) == state
    assert not run.events.exists()


def test_a_run_is_pausing_for_as_long_as_somebody_works_on_it(run, alice):
    chunk = add_chunk(run, ChunkState.LEASED)
    pause_run(run, alice)
    assert not settle_pause(run.pk)
    assert state_of(run) == RunState.PAUSING
    Chunk.objects.filter(pk=chunk.pk).update(state=ChunkState.PENDING)
    assert settle_pause(run.pk)
    assert state_of(run) == RunState.PAUSED


@pytest.mark.parametrize("state", RunState.held())
def test_nothing_is_planned_or_taken_for_a_held_run(run, state):
    chunk = add_chunk(run, ChunkState.PENDING)
    Run.objects.filter(pk=run.pk).update(state=state)
    advance_run(run.pk)
    assert lease_chunk(chunk.pk, "worker") is None
    assert list(run.chunks.values_list("state", flat=True)) == [ChunkState.PENDING]
    assert state_of(run) == state


def test_a_paused_run_keeps_its_reason_when_its_endpoint_is_paused(run, alice, endpoint):
    pause_run(run, alice, "too slow")
    pause_endpoint(make_person("grace", staff=True), endpoint)
    run.refresh_from_db()
    assert run.reason == "Paused by alice: too slow"
    resume_run(run, alice)
    run.refresh_from_db()
    assert run.reason == "Waiting: endpoint simulated is paused"


def test_the_time_of_a_pause_does_not_count(run, alice):
    moment = now()
    begin = moment - timedelta(hours=3)
    Run.objects.filter(pk=run.pk).update(
        started=begin, going_since=begin + timedelta(hours=2), ran_seconds=60.0
    )
    pause_run(run, alice)
    took = (now() - moment).total_seconds()
    run.refresh_from_db()
    ran = run.running_seconds(now())
    assert 3659.9 <= ran <= 3660.1 + took  # SQLite's clock has milliseconds
    assert run.running_seconds(now() + timedelta(days=1)) == ran
    resume_run(run, alice)
    run.refresh_from_db()
    later = run.going_since + timedelta(seconds=40)
    assert run.running_seconds(later) == pytest.approx(ran + 40)


def post(person, name, run, body="", **options):
    client = Client(**options)
    client.force_login(person)
    return client.post(reverse(name, args=[run.pk]), body, content_type="application/json")


def test_the_json_doors_say_whether_they_changed_anything(run, alice):
    body = {"reason": "by a script"}
    assert post(alice, "api:run_pause", run, body).json() == {"applied": True, "changed": True}
    assert Run.objects.get(pk=run.pk).reason == "Paused by alice: by a script"
    assert post(alice, "api:run_pause", run).json() == {"applied": True, "changed": False}
    assert post(alice, "api:run_resume", run).json() == {"applied": True, "changed": True}
    assert post(alice, "api:run_resume", run).json() == {"applied": True, "changed": False}
    assert post(alice, "api:run_cancel", run).json() == {"applied": True, "changed": True}
    assert post(alice, "api:run_cancel", run).json() == {"applied": True, "changed": False}
    assert post(alice, "api:run_pause", run).status_code == 409
    assert post(alice, "api:run_resume", run).status_code == 409


def test_pause_now_is_asked_for_in_the_body(run, alice):
    add_chunk(run, ChunkState.LEASED)
    post(alice, "api:run_pause", run, {"now": True})
    assert Run.objects.get(pk=run.pk).drops_calls


def json_is_whole(body):
    return body.endswith(("}", "]"))


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ("[]", [""]),
        ("{", [""]),
        ("[" * 100_000, [""]),
        ('{"hard": true}', ["hard"]),
        ('{"now": 1, "reason": ["x"]}', ["now", "reason"]),
    ],
)
def test_a_bad_pause_is_answered_with_its_problems(run, alice, body, paths):
    answer = post(alice, "api:run_pause", run, body)
    assert answer.status_code == (422 if json_is_whole(body) else 400)
    assert [problem["path"] for problem in answer.json()["problems"]] == paths
    assert state_of(run) == RunState.RUNNING


@pytest.mark.parametrize(
    "name", ["run_pause", "run_resume", "api:run_pause", "api:run_resume", "api:run_cancel"]
)
def test_strangers_and_foreign_pages_are_refused_and_reading_changes_nothing(run, alice, name):
    assert post(make_person("bob"), name, run).status_code == 404
    assert post(alice, name, run, enforce_csrf_checks=True).status_code == 403
    assert client_of(alice).get(reverse(name, args=[run.pk])).status_code == 405
    assert state_of(run) == RunState.RUNNING


def buttons(page):
    """The names of the header's actions that show."""
    found = {}
    for name in ("pause-run", "pause-now", "resume-run", "cancel"):
        found[name] = "hidden" not in page.split(f"data-{name}", 1)[1].split(">", 1)[0]
    return [name for name, is_shown in found.items() if is_shown]


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (RunState.QUEUED, ["pause-run", "pause-now", "cancel"]),
        (RunState.RUNNING, ["pause-run", "pause-now", "cancel"]),
        (RunState.PAUSING, ["pause-now", "resume-run", "cancel"]),
        (RunState.PAUSED, ["resume-run", "cancel"]),
        (RunState.COMPLETED, []),
    ],
)
def test_the_page_offers_what_can_be_done_now(run, alice, state, shown):
    Run.objects.filter(pk=run.pk).update(state=state, ended=now() if not shown else None)
    page = client_of(alice).get(run.get_absolute_url()).content.decode()
    assert buttons(page) == shown


def test_the_page_pauses_and_resumes_without_scripts(run, alice):
    client = client_of(alice)
    page = client.post(reverse("run_pause", args=[run.pk]), follow=True).content.decode()
    assert "Paused by alice" in page
    assert "paused, 3 trials left" in page
    client.post(reverse("run_resume", args=[run.pk]))
    assert state_of(run) == RunState.RUNNING
    page = client.post(reverse("run_resume", args=[run.pk]), follow=True).content.decode()
    assert "The run was not paused." in page


def test_a_paused_run_shows_no_speed_and_no_end(run, alice):
    Run.objects.filter(pk=run.pk).update(started=now() - timedelta(seconds=10))
    pause_run(run, alice)
    run.refresh_from_db()
    text = take_snapshot(run)["text"]
    assert text["eta"] == "paused, 3 trials left"
    assert (text["throughput"], text["throughput_context"]) == ("Paused", "mean 0.0/s while it ran")


def test_the_runs_list_says_paused_in_a_word_with_its_icon_and_reason(run, alice):
    pause_run(run, alice, "lunch")
    page = client_of(alice).get(reverse("runs"), {"state": "paused"}).content.decode()
    row = page.split('class="state" data-state="paused"', 1)
    assert "#icon-pause" in row[1].split("</td>", 1)[0]
    assert "Paused by alice: lunch" in row[0]


def test_a_reason_that_is_a_sentence_gets_no_second_stop(run, alice):
    reason = "Paused: the provider did not accept the key. Replace the endpoint's key and test it."
    Run.objects.filter(pk=run.pk).update(state=RunState.PAUSED, reason=reason)
    page = client_of(alice).get(run.get_absolute_url()).content.decode()
    assert "and test it. 0 of" in page
    assert "test it.." not in page
