"""Runs that people pause and resume while calls fly: the provider's ledger is the judge."""

import time
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from runs.models import ChunkState, Run, RunState
from runs.services.chunks.recovery import sweep
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run
from runs.services.runs import cancel_run, create_run
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

CALL_MS = 60


@pytest.fixture
def long_document(document: dict[str, Any], simulator: SimulatorClient) -> dict[str, Any]:
    """360 trials, none of them cached; after 60 the provider waits until it is let go."""
    simulator.change(latency_ms=CALL_MS, hold_after=60)
    return {**document, "cache": "off", "repeats": 3}


def is_in(run: Run, *states: RunState) -> bool:
    run.refresh_from_db()
    return run.state in states


def table(run: Run) -> list[Any]:
    """The results, in their order."""
    columns = ("position", "candidate__position", "case__position", "repeat", "value", "answer")
    return list(run.scores.order_by("position").values_list(*columns))


def hang(simulator: SimulatorClient, document: dict[str, Any]) -> None:
    """No call that is sent from now on is answered as long as a test can last."""
    simulator.change(latency_ms=500_000, hold_after=None)
    document["limits"] = {**document["limits"], "timeout_seconds": 600}


def let_go(simulator: SimulatorClient) -> None:
    simulator.change(hold_after=None)


def flies(simulator: SimulatorClient, calls: int = 5) -> None:
    wait_until(lambda: simulator.ledger()["in_flight"] >= calls)


@pytest.mark.alone
def test_a_pause_lets_calls_end_and_a_resumed_run_is_as_if_never_paused(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient
) -> None:
    let_go(simulator)
    with running_worker(), running_worker():
        undisturbed = finish(create_run(ada, long_document))
        simulator.reset()
        run = create_run(ada, long_document)
        flies(simulator)
        asked = time.monotonic()
        assert pause_run(run, ada, "lunch")
        assert time.monotonic() - asked < 1
        wait_until(lambda: is_in(run, RunState.PAUSED), seconds=3)
        calls = simulator.ledger()["total"]
        assert simulator.ledger()["in_flight"] == 0
        assert (run.reason, run.done) == ("Paused by ada: lunch", calls)
        assert not run.chunks.filter(state=ChunkState.LEASED).exists()
        sweep()
        time.sleep(0.5)  # a whole turn of the workers: nothing may start
        assert simulator.ledger()["total"] == calls < 360
        assert resume_run(run, ada)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 360, 0)
    assert simulator.ledger()["total"] == 360
    assert table(run) == table(undisturbed)
    assert run.calls_sent == 360
    said = list(run.events.order_by("pk").values_list("message", flat=True))[2:-1]
    assert said == [
        "Paused by ada: lunch; the calls in flight end first.",
        f"Paused: {calls} of 360 trials are stored.",
        "Resumed by ada.",
    ]


def test_pause_now_cancels_the_calls_and_they_are_asked_again(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient
) -> None:
    hang(simulator, long_document)
    with running_worker():
        run = create_run(ada, long_document)
        flies(simulator, 12)
        assert pause_run(run, ada, now=True)
        wait_until(lambda: is_in(run, RunState.PAUSED))
        assert run.done == 0
        simulator.change(latency_ms=0)
        resume_run(run, ada)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 360, 0)
    assert simulator.ledger()["total"] == 360 + 12


@pytest.mark.alone
def test_who_cannot_wait_for_the_drain_may_pause_now(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=4000, hold_after=None)
    with running_worker():
        run = create_run(ada, long_document)
        flies(simulator, 12)
        assert pause_run(run, ada)
        assert is_in(run, RunState.PAUSING)
        assert pause_run(run, ada, now=True)
        assert not pause_run(run, ada, now=True)
        wait_until(lambda: is_in(run, RunState.PAUSED), seconds=2)


def test_a_worker_that_dies_while_pausing_does_not_keep_the_run_from_being_paused(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient
) -> None:
    hang(simulator, long_document)
    with running_worker() as worker:
        run = create_run(ada, long_document)
        flies(simulator, 12)
        pause_run(run, ada)
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
    redis.Redis.from_url(settings.REDIS_URL).flushall()
    with running_worker():
        sweep()
        assert is_in(run, RunState.PAUSED)  # restarts of everything change nothing
        resume_run(run, ada)
        finish(run)
    assert (run.state, run.done) == (RunState.COMPLETED, 360)


def test_pausing_and_resuming_quickly_loses_and_doubles_nothing(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_worker():
        run = create_run(ada, long_document)
        flies(simulator)
        let_go(simulator)
        for turn in range(20):
            pause_run(run, ada)
            time.sleep(0.05 * (turn % 3))
            resume_run(run, ada)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 360, 0)
    assert simulator.ledger()["total"] == 360


@pytest.mark.parametrize("state", RunState.held())
def test_a_held_run_can_be_cancelled(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient, state: RunState
) -> None:
    simulator.change(hold_after=0)  # none of the calls in flight ends before it is let go
    with running_worker():
        run = create_run(ada, long_document)
        flies(simulator, 12)
        pause_run(run, ada)
        if state == RunState.PAUSED:
            simulator.change(hold_after=None, latency_ms=1000)  # what is left would take long
        wait_until(lambda: is_in(run, state))
        assert cancel_run(run)
        assert is_in(run, RunState.CANCELLED)
        assert not resume_run(run, ada)


def test_a_run_that_is_paused_before_a_worker_saw_it_waits_to_be_resumed(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    run = create_run(ada, document)
    assert pause_run(run, ada)
    assert is_in(run, RunState.PAUSED)
    with running_worker():
        other = finish(create_run(ada, {**document, "seed": 1}))
        assert is_in(run, RunState.PAUSED)
        assert run.started is None
        assert resume_run(run, ada)
        finish(run)
    assert run.state == other.state == RunState.COMPLETED


def test_a_pause_that_comes_with_the_last_calls_lets_the_run_finish(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=0)
    document["limits"]["max_concurrent"] = 50
    document["prompts"], document["models"] = document["prompts"][:1], ["simulated/sim-small"]
    with running_worker():
        run = create_run(ada, document)
        flies(simulator, 20)
        assert pause_run(run, ada)
        simulator.change(hold_after=None)
        finish(run)
    assert (run.state, run.done) == (RunState.COMPLETED, 20)
