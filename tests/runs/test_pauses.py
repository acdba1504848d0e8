"""Pausing and resuming: by people through the doors, and by the site where a model fails."""

import time
from datetime import timedelta

import pytest
import redis
from django.db import transaction
from django.urls import reverse
from django.utils.timezone import now

from runs.models import Run, RunSample, RunState
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.control.endpoint_pauses import pause_endpoint
from runs.services.control.failures import watch_failures
from runs.services.control.outages import pause_hopeless
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run
from tests.api.asking import Asker
from tests.harness.factories import make_run, run_document
from tests.harness.patience import PATIENCE_SECONDS
from tests.runs.conftest import exchange
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.throttling.permits import Demand, Quota, Report

pytestmark = pytest.mark.django_db

GOING = [RunState.QUEUED, RunState.STARTING, RunState.RUNNING, RunState.FINISHING]
ENDED = [RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS, RunState.FAILED, RunState.CANCELLED]


@pytest.fixture
def run(alice, dataset):
    begin = now() - timedelta(hours=1)
    return make_run(alice, dataset, state=RunState.RUNNING, started=begin, ended=None)


def change(run, **fields):
    Run.objects.filter(pk=run.pk).update(**fields)


def state_of(run):
    return Run.objects.get(pk=run.pk).state


@pytest.mark.postgresql("locks: a pause holds the row of its run")
def test_what_goes_on_can_be_paused_and_resumed_and_what_has_ended_cannot(run, alice):
    assert set(RunState) == {*RunState.going(), *RunState.held(), *ENDED}
    assert set(RunState.live()) == {*RunState.going(), *RunState.held()}
    for state in ENDED:
        change(run, state=state)
        assert not pause_run(run, alice, now=True)
        assert not resume_run(run, alice)
        assert state_of(run) == state
        assert not run.events.exists()
    for state in GOING:
        change(run, state=state)
        assert pause_run(run, alice)
        assert state_of(run) == RunState.PAUSED  # nobody works on it
        assert not pause_run(run, alice)
        assert resume_run(run, alice)
        assert state_of(run) == RunState.RUNNING
        assert not resume_run(run, alice)


def test_a_paused_run_keeps_its_reason_when_its_endpoint_is_paused(run, alice, ada, endpoint):
    pause_run(run, alice, "too slow")
    pause_endpoint(ada, endpoint)
    run.refresh_from_db()
    assert run.reason == "Paused by alice: too slow"
    resume_run(run, alice)
    run.refresh_from_db()
    assert run.reason == "Waiting: endpoint simulated is paused"


@pytest.mark.postgresql("types: times and seconds are counted by the database")
def test_the_time_of_a_pause_does_not_count(run, alice):
    moment = now()
    begin = moment - timedelta(hours=3)
    change(run, started=begin, going_since=begin + timedelta(hours=2), ran_seconds=60.0)
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


def buttons(page):
    """The names of the header's actions that show."""
    found = {}
    for name in ("pause-run", "pause-now", "resume-run", "cancel"):
        found[name] = "hidden" not in page.split(f"data-{name}", 1)[1].split(">", 1)[0]
    return [name for name, is_shown in found.items() if is_shown]


def test_the_page_offers_what_can_be_done_now(run, alice, browser):
    refused = Asker(alice).post(f"/runs/{run.pk}/pause", {"now": 1, "reason": ["x"]})
    problems = [problem["path"] for problem in refused.json()["problems"]]
    assert (problems, state_of(run)) == (["now", "reason"], RunState.RUNNING)
    for state, shown in (
        (RunState.QUEUED, ["pause-run", "pause-now", "cancel"]),
        (RunState.RUNNING, ["pause-run", "pause-now", "cancel"]),
        (RunState.PAUSING, ["pause-now", "resume-run", "cancel"]),
        (RunState.PAUSED, ["resume-run", "cancel"]),
        (RunState.COMPLETED, []),
    ):
        change(run, state=state, ended=now() if not shown else None)
        assert buttons(browser.get(run.get_absolute_url()).text) == shown, state


def test_pages_pause_and_resume_without_scripts_and_say_so(run, alice, browser):
    page = browser.post(reverse("run_pause", args=[run.pk]), follow=True).text
    assert "Paused by alice" in page
    assert "paused, 3 trials left" in page
    browser.post(reverse("run_resume", args=[run.pk]))
    assert state_of(run) == RunState.RUNNING
    page = browser.post(reverse("run_resume", args=[run.pk]), follow=True).text
    assert "The run was not paused." in page
    pause_run(run, alice, "lunch")
    page = browser.get(reverse("runs"), {"state": "paused"}).text
    row = page.split('class="state" data-state="paused"', 1)
    assert "#icon-pause" in row[1].split("</td>", 1)[0]
    assert "Paused by alice: lunch" in row[0]
    run.refresh_from_db()
    text = take_snapshot(run)["text"]
    assert text["eta"] == "paused, 3 trials left"
    assert (text["throughput"], text["throughput_context"]) == ("Paused", "mean 0.0/s while it ran")
    reason = "Paused: the provider did not accept the key. Replace the endpoint's key and test it."
    change(run, reason=reason)
    page = browser.get(run.get_absolute_url()).text
    assert "and test it. 0 of" in page
    assert "test it.." not in page, "a sentence gets no second stop"


# --- Runs that are given up for a while: no answer for long, and a model that they need fails

LONG = 10.0  # seconds
STILL = -int(PATIENCE_SECONDS)  # seconds ago: until the test is over


def fail(settings, endpoint, model):
    """What a worker tells of calls that failed: the breaker opens."""
    quota = Quota(f"endpoint:{endpoint.pk}/{model}", 20, is_guarded=True)
    exchange((quota,), Demand((0,), 0, 0, Report(troubled=5, row=5)))
    key = f"permits:state:endpoint:{endpoint.pk}/{model}"
    long_ago = (time.time() - 3 * LONG) * 1000
    redis.Redis.from_url(settings.REDIS_URL).hset(key, "opened", long_ago)


def state_after(run, seconds=LONG):
    pause_hopeless(seconds)
    return state_of(run)


def sample(run, seconds_ago, **counts):
    RunSample.objects.create(run=run, second=3600 - seconds_ago, **counts)


WAITING = {"reason": "Waiting: endpoint simulated is paused"}
PATIENCE = timedelta(seconds=PATIENCE_SECONDS)
GOES_ON = {
    "it gets answers": lambda run: sample(run, STILL, fresh=1),
    "it gets answers of the cache": lambda run: sample(run, STILL, cached=1),
    "it has all answers": lambda run: run.candidates.update(done=3),
    "it was resumed": lambda run: change(run, going_since=now() + PATIENCE),
    "it waits for a person": lambda run: change(run, **WAITING),
}


def test_a_run_goes_on_though_its_model_fails_until_nothing_is_answered(settings, endpoint, run):
    fail(settings, endpoint, "sim-large")
    assert state_after(run) == RunState.RUNNING, "it does not need this one"
    fail(settings, endpoint, "sim-small")
    found = {}
    for case, prepare in GOES_ON.items():
        with transaction.atomic():
            prepare(run)
            found[case] = state_after(run)
            transaction.set_rollback(True)
    assert found == dict.fromkeys(GOES_ON, RunState.RUNNING)
    sample(run, 30, fresh=5)
    sample(run, 0, failed=2)
    assert state_after(run, 600) == RunState.RUNNING  # it fails, but not for long
    assert state_after(run) == RunState.PAUSED
    assert Run.objects.get(pk=run.pk).events.filter(level="error").count() == 1


# --- `fail_on_error`: when failing trials stop a run, and that a person decides then


def run_after(alice, dataset, allowed, failed, done):
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None, planned=1000)
    Run.objects.filter(pk=run.pk).update(
        failed=failed, done=done, document={**run.document, "fail_on_error": allowed}
    )
    run.refresh_from_db()
    watch_failures(run)
    run.refresh_from_db()
    return run


STOPPED = {
    (None, 500, 500): False,  # not asked for
    (0.1, 2, 20): False,  # a tenth of twenty is allowed
    (0.1, 3, 20): True,  # more than a tenth
    (0.1, 2, 2): False,  # too few to say anything
    (0.1, 3, 3): True,  # more than a tenth of twenty, whatever comes
    (5, 5, 900): False,  # five are allowed
    (5, 6, 900): True,  # six are not
}


def test_a_run_is_stopped_by_share_or_count_until_somebody_resumes_it(alice, dataset):
    states = {facts: run_after(alice, dataset, *facts).state for facts in STOPPED}
    assert {facts: state == RunState.PAUSED for facts, state in states.items()} == STOPPED
    for value in (0, -1, 2.5, "many"):
        with pytest.raises(ConfigurationError, match="fail_on_error"):
            read_configuration(run_document(dataset, fail_on_error=value))
    run = run_after(alice, dataset, 0.1, 30, 100)
    assert run.reason == (
        "30 of 100 trials failed, and fail_on_error allows 10 %: see Errors, then resume or cancel"
    )
    assert resume_run(run, alice)
    run.refresh_from_db()
    watch_failures(run)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING
