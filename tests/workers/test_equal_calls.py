"""Equal calls over real worker processes: the provider's ledger says how many were sent."""

import os
import signal
from datetime import timedelta

import pytest
from django.utils import timezone

from runs.models import CachedReply, Chunk, RunState
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.chunks.recovery import sweep
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from tests.conftest import shared_redis
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker

pytestmark = pytest.mark.django_db(transaction=True)

EQUAL = 60
FLIGHT_SECONDS = 300


@pytest.fixture(autouse=True)
def long_flights(monkeypatch):
    """A worker that stands still for ten seconds is not dead: nobody makes its call again."""
    monkeypatch.setenv("EVALSITE_FLIGHT_SECONDS", str(FLIGHT_SECONDS))


@pytest.fixture
def twins(alice, document):
    """One prompt, one model, and the same question over and over."""
    row = {"question": "What is 2 + 3?", "expected": "5"}
    store_rows(alice, "twins", [row] * EQUAL)
    return {
        **document,
        "dataset": "twins",
        "prompts": document["prompts"][:1],
        "models": ["simulated/sim-large"],
    }


def test_equal_trials_of_two_processes_send_one_call_per_repeat(alice, twins, simulator):
    simulator.change(hold_after=0)
    twins["repeats"] = 2
    with running_worker(), running_worker():
        run = create_run(alice, twins)
        wait_until(lambda: bool(awaited_flights()))
        simulator.change(hold_after=None)
        finish(run)
    assert run.state == RunState.COMPLETED
    assert simulator.ledger()["total"] == run.calls_sent == 2
    assert (run.done, run.cached) == (2 * EQUAL, 2 * EQUAL - 2)
    assert run.chunks.values("owner").distinct().count() == 2
    attempts = run.scores.values_list("attempts", flat=True)
    joined = sum(row[0][0] == "joined an equal call" for row in attempts)
    assert run.calls_joined == joined > 0
    text = take_snapshot(run)["text"]["cache_context"]
    stored = run.cached - joined
    assert text == f"2 sent, {stored:,} from cache, {joined:,} shared with identical calls"


@pytest.mark.postgresql("unique rows: several workers store the same answers")
def test_equal_runs_at_the_same_time_send_every_call_once(alice, both, simulator):
    simulator.change(latency_ms=40)
    with running_worker(), running_worker():
        runs = [create_run(alice, {**both, "seed": seed}) for seed in range(3)]
        for run in runs:
            assert finish(run).state == RunState.COMPLETED
    assert simulator.ledger()["total"] == 40
    assert sum(run.calls_sent for run in runs) == 40
    assert sum(run.cached for run in runs) == 80


def test_one_failure_is_not_everybodys_and_a_refreshing_run_asks_again(alice, twins, simulator):
    simulator.change(latency_ms=100)
    simulator.play({"match": {}, "times": 1, "do": "status", "status": 400})
    with running_worker(), running_worker():
        first = finish(create_run(alice, twins))
        assert first.state == RunState.COMPLETED_WITH_ERRORS
        assert (first.failed, first.scored) == (1, EQUAL - 1)
        assert simulator.ledger()["total"] == 2
        before = CachedReply.objects.get()
        simulator.change(latency_ms=300)
        run = finish(create_run(alice, {**twins, "cache": "refresh"}))
    after = CachedReply.objects.get()
    assert (after.run_id, before.run_id != run.pk) == (run.pk, True)
    assert after.latency_ms > 250
    assert 1 <= run.calls_sent < EQUAL
    assert run.calls_joined == EQUAL - run.calls_sent


def test_a_killed_process_holds_up_nobody_who_waits_for_its_call(alice, twins, simulator):
    simulator.play({"match": {}, "times": 1, "do": "hang"})
    with running_worker(), running_worker():
        run = create_run(alice, twins)
        wait_until(lambda: len(awaited_flights()) == 1)
        wait_until(lambda: simulator.ledger()["total"] == 1)
        (dead,) = awaited_flights()
        os.kill(int(dead.split(":")[1]), signal.SIGKILL)
        end_flights()
        wait_until(lambda: simulator.ledger()["total"] == 2)
        past = timezone.now() - timedelta(seconds=1)  # instead of waiting for the leases' end
        Chunk.objects.filter(run=run, owner=dead).update(lease_until=past)
        sweep()
        finish(run)
    assert (run.state, run.done) == (RunState.COMPLETED, EQUAL)
    assert simulator.ledger()["total"] == 2


def end_flights():
    """As if the time of their locks had passed, which is the one of the setting."""
    (name,) = shared_redis().keys("flight:*")
    assert 10_000 < shared_redis().pttl(name) <= 1000 * FLIGHT_SECONDS  # above the default
    shared_redis().delete(name)


def awaited_flights():
    """The host:pid:id of who flies, of each flight that another process waits for."""
    states = [
        (shared_redis().get(name) or b"").decode() for name in shared_redis().keys("flight:*")
    ]
    return [state[1:] for state in states if state.startswith("w")]
