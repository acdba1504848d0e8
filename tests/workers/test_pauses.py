"""Runs and endpoints that people pause, resume and limit while calls fly."""

from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs.models import ChunkState, Endpoint, Run, RunState
from runs.services.chunks.recovery import sweep
from runs.services.control.endpoint_pauses import pause_endpoint, resume_endpoint
from runs.services.control.limits import retune_run
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run
from runs.services.runs import cancel_run, create_run
from tests.conftest import shared_redis
from tests.harness.patience import wait_until
from tests.workers.working import finish, is_in, running_worker
from workers import following

pytestmark = pytest.mark.django_db(transaction=True)

TRIALS, SLOTS = 100, 12


@pytest.fixture
def grace(transactional_db):
    return User.objects.create(username="grace", is_staff=True)


@pytest.fixture
def held(few, simulator):
    """100 trials; after 30 the provider waits until it is let go."""
    simulator.change(hold_after=30)
    return {**few, "repeats": 5}


def table(run):
    """The results, in their order."""
    columns = ("position", "candidate__position", "case__position", "repeat", "value", "answer")
    return list(run.scores.order_by("position").values_list(*columns))


def hang(simulator, document):
    """No call that is sent from now on is answered as long as a test can last."""
    simulator.change(latency_ms=500_000, hold_after=None)
    document["limits"] = {**document["limits"], "timeout_seconds": 600}


def let_go_slowly(simulator):
    """What is in flight is answered; what is left would take long."""
    simulator.change(hold_after=None, latency_ms=1000)


def flies(simulator, calls=1):
    wait_until(lambda: simulator.ledger()["in_flight"] >= calls)


def test_a_pause_lets_calls_end_and_a_resumed_run_is_as_if_never_paused(alice, held, simulator):
    simulator.change(hold_after=None)
    with running_worker(), running_worker():
        undisturbed = finish(create_run(alice, held))
        simulator.reset()
        simulator.change(hold_after=30)
        run = create_run(alice, held)
        flies(simulator)
        wait_until(lambda: Run.objects.get(pk=run.pk).done == 30)
        assert 1 <= Run.objects.get(pk=run.pk).peak_in_flight <= SLOTS
        assert pause_run(run, alice, "lunch")
        assert is_in(run, RunState.PAUSING)  # at once, though the calls are still in flight
        let_go_slowly(simulator)
        wait_until(lambda: is_in(run, RunState.PAUSED))
        calls = simulator.ledger()["total"]
        assert simulator.ledger()["in_flight"] == 0
        assert (run.reason, run.done) == ("Paused by alice: lunch", calls)
        assert not run.chunks.filter(state=ChunkState.LEASED).exists()
        sweep()
        simulator.change(latency_ms=0)
        # A whole run of the same workers goes by meanwhile: of the paused one nothing starts.
        finish(create_run(alice, {**held, "repeats": 1}))
        assert simulator.ledger()["total"] == calls + 20 < TRIALS
        assert resume_run(run, alice)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, TRIALS, 0)
    assert simulator.ledger()["total"] == TRIALS + 20
    assert table(run) == table(undisturbed)
    assert run.calls_sent == TRIALS
    said = list(run.events.order_by("pk").values_list("message", flat=True))[2:-1]
    assert said == [
        "Paused by alice: lunch; the calls in flight end first.",
        f"Paused: {calls} of {TRIALS} trials are stored.",
        "Resumed by alice.",
    ]


def test_pause_now_cancels_the_calls_and_they_are_asked_again(alice, held, simulator):
    hang(simulator, held)
    with running_worker():
        run = create_run(alice, held)
        flies(simulator, SLOTS)
        assert pause_run(run, alice, now=True)
        wait_until(lambda: is_in(run, RunState.PAUSED))
        assert run.done == 0
        simulator.reset()
        resume_run(run, alice)
        flies(simulator, SLOTS)
        assert pause_run(run, alice)
        assert is_in(run, RunState.PAUSING)
        assert pause_run(run, alice, now=True)  # who cannot wait for the calls' end may say so
        assert not pause_run(run, alice, now=True)
        wait_until(lambda: is_in(run, RunState.PAUSED))
        simulator.change(latency_ms=0)
        resume_run(run, alice)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, TRIALS, 0)
    assert simulator.ledger()["total"] == TRIALS + SLOTS


def test_a_worker_that_dies_while_pausing_leaves_the_run_to_be_paused(alice, held, simulator):
    hang(simulator, held)
    with running_worker() as worker:
        run = create_run(alice, held)
        flies(simulator, SLOTS)
        pause_run(run, alice)
        worker.kill()
        worker.join()
    leased = run.chunks.filter(state=ChunkState.LEASED)
    leased.update(lease_until=timezone.now() + timedelta(hours=1))
    sweep()
    assert is_in(run, RunState.PAUSING)  # by its lease, the worker may still live
    leased.update(lease_until=run.created)
    sweep()
    assert is_in(run, RunState.PAUSED)
    simulator.change(latency_ms=0)
    shared_redis().flushall()
    with running_worker():
        sweep()
        assert is_in(run, RunState.PAUSED)  # restarts of everything change nothing
        resume_run(run, alice)
        finish(run)
    assert (run.state, run.done) == (RunState.COMPLETED, TRIALS)


def test_pausing_and_resuming_quickly_loses_and_doubles_nothing(alice, held, simulator):
    with running_worker():
        run = create_run(alice, held)
        flies(simulator)
        simulator.change(hold_after=None, latency_ms=60)
        for turn in range(12):
            pause_run(run, alice)
            if turn % 3 == 2:  # the worker sees this one for sure, and of the others some
                wait_until(lambda: is_in(run, RunState.PAUSED, RunState.COMPLETED))
            resume_run(run, alice)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, TRIALS, 0)
    assert simulator.ledger()["total"] == TRIALS


def test_a_held_run_can_be_cancelled(alice, held, simulator):
    with running_worker():
        for state in (RunState.PAUSING, RunState.PAUSED):
            wait_until(lambda: simulator.ledger()["in_flight"] == 0)  # of the run before
            run = create_run(alice, held)
            flies(simulator)
            pause_run(run, alice)
            if state == RunState.PAUSED:
                let_go_slowly(simulator)
            wait_until(partial(is_in, run, state))
            assert cancel_run(run)
            assert is_in(run, RunState.CANCELLED)
            assert not resume_run(run, alice)
    assert set(RunState.held()) == {RunState.PAUSING, RunState.PAUSED}


def test_a_pause_may_come_before_a_worker_saw_the_run_or_with_its_last_calls(alice, few, simulator):
    """The first waits to be resumed, the second lets the run finish."""
    simulator.change(hold_after=0)
    few["limits"]["max_concurrent"] = 50
    unseen = create_run(alice, {**few, "seed": 1})
    assert pause_run(unseen, alice)
    with running_worker():
        run = create_run(alice, few)
        flies(simulator, 20)
        assert pause_run(run, alice)
        simulator.change(hold_after=None)
        finish(run)
        assert is_in(unseen, RunState.PAUSED)
        assert unseen.started is None
        assert resume_run(unseen, alice)
        finish(unseen)
    assert (run.state, run.done, unseen.state) == (RunState.COMPLETED, 20, RunState.COMPLETED)


def peak_of_next_calls(simulator, calls=40):
    """The most in flight while the next calls arrive."""
    simulator.reset()
    wait_until(lambda: simulator.ledger()["total"] >= calls)
    return simulator.ledger()["peak_in_flight"]


def wait_for_peak(simulator, limit):
    wait_until(lambda: peak_of_next_calls(simulator) == limit)


def test_a_changed_limit_or_rate_holds_for_the_calls_that_wait_already(alice, few, simulator):
    assert following.FOLLOW_SECONDS <= 1  # else a change would not be felt within three
    simulator.change(latency_ms=50, hold_after=0)
    few |= {"repeats": 100, "limits": {**few["limits"], "max_concurrent": 20}}
    # Together they have 40 trials in hand, in chunks of 5: enough for 20 calls at any time.
    with running_worker(), running_worker():
        run = create_run(alice, few)
        wait_until(lambda: simulator.ledger()["in_flight"] == 20)
        for limit in (4, 20):
            assert retune_run(run, alice, {"max_concurrent": limit}, "a try")
            simulator.change(hold_after=None, gather=limit)
            wait_for_peak(simulator, limit)
            assert peak_of_next_calls(simulator, calls=60) <= limit
        simulator.change(gather=None)
        assert retune_run(run, alice, {"requests_per_minute": 60}, "the provider asked")
        # A provider that stands still for a second meets two at once: then the next ones count.
        wait_until(lambda: peak_of_next_calls(simulator, calls=3) == 1)
        cancel_run(run)


def test_a_paused_endpoint_starts_no_calls_until_it_is_resumed_and_runs_of_others_go_on(
    alice, grace, endpoint, held, simulator
):
    Endpoint.objects.create(name="second", kind=endpoint.kind, max_concurrent=50)
    other = {**held, "repeats": 1, "models": ["second/sim-small"]}
    waiting = "Waiting: endpoint simulated is paused"
    with running_worker(threads=2):
        run = create_run(alice, held)
        flies(simulator, SLOTS)
        assert pause_endpoint(grace, endpoint)
        simulator.change(hold_after=None, latency_ms=300)  # what is left would take long
        assert finish(create_run(alice, other)).state == RunState.COMPLETED
        wait_until(lambda: not run.chunks.filter(state=ChunkState.LEASED).exists())
        assert simulator.ledger()["in_flight"] == 0
        run.refresh_from_db()
        assert (run.state, run.reason) == (RunState.RUNNING, waiting)
        late = create_run(alice, {**held, "repeats": 1})
        wait_until(lambda: is_in(late, RunState.RUNNING))
        assert Run.objects.get(pk=late.pk).reason == waiting
        run.refresh_from_db()
        assert run.done + 20 == simulator.ledger()["total"] < TRIALS
        simulator.change(latency_ms=0)
        assert resume_endpoint(grace, endpoint)
        assert finish(late).state == RunState.COMPLETED
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, TRIALS, 0)
    assert simulator.ledger()["total"] == TRIALS + 2 * 20
    assert list(run.events.filter(kind="limit").values_list("message", flat=True)) == [
        "Endpoint simulated: resumed by grace.",
        "Endpoint simulated: paused by grace.",
    ]
