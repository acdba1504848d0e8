"""Equal calls over real worker processes: the provider's ledger says how many were sent."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.utils import timezone

from runs.models import CachedReply, Chunk, Run, RunState
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.datasets.storing import store_rows
from runs.services.runs import create_run
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

EQUAL = 320
FLIGHT_SECONDS = 300


@pytest.fixture(autouse=True)
def long_flights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that stands still for ten seconds is not dead: nobody makes its call again."""
    monkeypatch.setenv("EVALSITE_FLIGHT_SECONDS", str(FLIGHT_SECONDS))


@pytest.fixture
def twins(ada: User, document: dict[str, Any]) -> dict[str, Any]:
    """One prompt, one model, and the same question over and over."""
    row = {"question": "What is 2 + 3?", "expected": "5"}
    store_rows(ada, "twins", [row] * EQUAL)
    return {
        **document,
        "dataset": "twins",
        "prompts": document["prompts"][:1],
        "models": ["simulated/sim-large"],
    }


@contextmanager
def running_workers(number: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(number):
            stack.enter_context(running_worker())
        yield


def owners(run: Run) -> set[str]:
    return set(run.chunks.values_list("owner", flat=True))


def test_equal_trials_of_two_processes_send_one_call_per_repeat(
    ada: User, twins: dict[str, Any], simulator: SimulatorClient, settings: Any
) -> None:
    simulator.change(hold_after=0)
    twins |= {"repeats": 2, "limits": {**twins["limits"], "max_concurrent": 100}}
    with running_workers(2):
        run = create_run(ada, twins)
        wait_until(lambda: bool(awaited_flights(settings.REDIS_URL)))
        simulator.change(hold_after=None)
        finish(run)
    assert run.state == RunState.COMPLETED
    assert simulator.ledger()["total"] == run.calls_sent == 2
    assert (run.done, run.cached) == (2 * EQUAL, 2 * EQUAL - 2)
    assert len(owners(run)) == 2
    joined = sum(row[0][0] == "joined an equal call" for row in attempts_of(run))
    assert run.calls_joined == joined > 0
    text = take_snapshot(run)["text"]["cache_context"]
    stored = run.cached - joined
    assert text == f"2 sent, {stored:,} from cache, {joined:,} shared with identical calls"


def attempts_of(run: Run) -> list[list[list[Any]]]:
    return list(run.scores.values_list("attempts", flat=True))


def test_equal_runs_at_the_same_time_send_every_call_once(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=40)
    with running_workers(2):
        runs = [create_run(ada, {**document, "seed": seed}) for seed in range(3)]
        for run in runs:
            assert finish(run).state == RunState.COMPLETED
    assert simulator.ledger()["total"] == 120
    assert sum(run.calls_sent for run in runs) == 120
    assert sum(run.cached for run in runs) == 240


def test_a_run_that_refreshes_asks_again_and_keeps_what_it_hears(
    ada: User, twins: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_workers(2):
        finish(create_run(ada, twins))
        before = CachedReply.objects.get()
        simulator.change(latency_ms=300)
        run = finish(create_run(ada, {**twins, "cache": "refresh"}))
    after = CachedReply.objects.get()
    assert (after.run_id, before.run_id != run.pk) == (run.pk, True)
    assert after.latency_ms > 250
    assert 1 <= run.calls_sent < EQUAL
    assert run.calls_joined == EQUAL - run.calls_sent


def test_the_failure_of_the_one_that_calls_is_not_everybodys(
    ada: User, twins: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=100)
    simulator.play({"match": {}, "times": 1, "do": "status", "status": 400})
    with running_workers(2):
        run = finish(create_run(ada, twins))
    assert run.state == RunState.COMPLETED_WITH_ERRORS
    assert (run.failed, run.scored) == (1, EQUAL - 1)
    assert simulator.ledger()["total"] == 2


def test_a_killed_process_does_not_hold_up_those_that_wait_for_its_call(
    ada: User,
    twins: dict[str, Any],
    simulator: SimulatorClient,
    settings: Any,
) -> None:
    simulator.play({"match": {}, "times": 1, "do": "hang"})
    with running_workers(2):
        run = create_run(ada, twins)
        wait_until(lambda: len(awaited_flights(settings.REDIS_URL)) == 1)
        wait_until(lambda: simulator.ledger()["total"] == 1)
        (dead,) = awaited_flights(settings.REDIS_URL)
        os.kill(int(dead.split(":")[1]), signal.SIGKILL)
        end_flights(settings.REDIS_URL)
        wait_until(lambda: simulator.ledger()["total"] == 2)
        past = timezone.now() - timedelta(seconds=1)  # instead of waiting for the leases' end
        Chunk.objects.filter(run=run, owner=dead).update(lease_until=past)
        finish(run)
    assert run.state == RunState.COMPLETED
    assert run.done == EQUAL
    assert simulator.ledger()["total"] == 2


def end_flights(url: str) -> None:
    """As if the time of their locks had passed, which is the one of the setting."""
    client = redis.Redis.from_url(url)
    (name,) = client.keys("flight:*")
    assert 10_000 < client.pttl(name) <= 1000 * FLIGHT_SECONDS  # above the default
    client.delete(name)


def awaited_flights(url: str) -> list[str]:
    """The host:pid:id of who flies, of each flight that another process waits for."""
    client = redis.Redis.from_url(url, decode_responses=True)
    names = client.keys("flight:*")
    assert isinstance(names, list)
    states = [str(client.get(name) or "") for name in names]
    return [state[1:] for state in states if state.startswith("w")]
