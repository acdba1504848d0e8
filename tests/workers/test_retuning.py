"""Limits that people change while calls fly: seen by the provider, on the next calls."""

from contextlib import ExitStack
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import ChunkState, Endpoint, Run, RunState
from runs.services.control.endpoint_pauses import pause_endpoint, resume_endpoint
from runs.services.control.limits import retune_run
from runs.services.runs import cancel_run, create_run
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

CALL_MS = 50


@pytest.fixture
def grace(transactional_db: None) -> User:
    return User.objects.create_user("grace", is_staff=True)


@pytest.fixture
def long_document(document: dict[str, Any], simulator: SimulatorClient) -> dict[str, Any]:
    """6000 trials; no call is answered before the provider is let go."""
    simulator.change(latency_ms=CALL_MS, hold_after=0)
    return {**document, "cache": "off", "repeats": 50, "limits": {**document["limits"]}}


def peak_of_next_calls(simulator: SimulatorClient, calls: int = 40) -> int:
    """The most in flight while the next calls arrive."""
    simulator.reset()
    wait_until(lambda: simulator.ledger()["total"] >= calls)
    peak: int = simulator.ledger()["peak_in_flight"]
    return peak


@pytest.mark.parametrize(("before", "after"), [(20, 4), (4, 20)], ids=["down", "up"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_changed_limit_holds_for_the_calls_that_wait_already(
    ada: User,
    long_document: dict[str, Any],
    simulator: SimulatorClient,
    workers: int,
    before: int,
    after: int,
) -> None:
    long_document["limits"]["max_concurrent"] = before
    with ExitStack() as stack:
        for _ in range(workers):
            # Together they have 40 trials in hand, in chunks of 5: enough for 20 calls at any time.
            stack.enter_context(running_worker(threads=8 // workers))
        run = create_run(ada, long_document)
        wait_until(lambda: simulator.ledger()["in_flight"] == before)
        assert retune_run(run, ada, {"max_concurrent": after}, "a try")
        simulator.change(hold_after=None, gather=after)
        wait_until(lambda: peak_of_next_calls(simulator) == after)
        assert peak_of_next_calls(simulator, calls=100) <= after
        cancel_run(run)


@pytest.mark.alone
def test_a_changed_limit_is_felt_within_three_seconds(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient
) -> None:
    with running_worker(), running_worker():
        run = create_run(ada, long_document)
        wait_until(lambda: simulator.ledger()["in_flight"] == 12)
        assert retune_run(run, ada, {"max_concurrent": 4}, "a try")
        simulator.change(hold_after=None)
        wait_until(lambda: peak_of_next_calls(simulator) == 4, seconds=3)
        cancel_run(run)


def test_a_rate_given_later_is_kept(
    ada: User, long_document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=None)
    with running_worker():
        run = create_run(ada, long_document)
        wait_until(lambda: simulator.ledger()["total"] > 50)
        assert retune_run(run, ada, {"requests_per_minute": 60}, "the provider asked")
        # A provider that stands still for a second meets two at once: then the next ones count.
        wait_until(lambda: peak_of_next_calls(simulator, calls=5) == 1)
        cancel_run(run)


def test_a_paused_endpoint_starts_no_calls_until_it_is_resumed(
    ada: User, grace: User, endpoint: Endpoint, document: Any, simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=60)
    document = {**document, "cache": "off", "repeats": 5}
    with running_worker():
        run = create_run(ada, document)
        wait_until(lambda: simulator.ledger()["in_flight"] == 12)
        assert pause_endpoint(grace, endpoint)
        simulator.change(hold_after=None, latency_ms=1000)  # what is left would take long
        wait_until(lambda: not run.chunks.filter(state=ChunkState.LEASED).exists())
        assert simulator.ledger()["in_flight"] == 0
        calls = simulator.ledger()["total"]
        run.refresh_from_db()
        assert (run.state, run.reason) == (
            RunState.RUNNING,
            "Waiting: endpoint simulated is paused",
        )
        assert run.done == calls == simulator.ledger()["total"]
        simulator.change(latency_ms=0)
        assert resume_endpoint(grace, endpoint)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 600, 0)
    assert simulator.ledger()["total"] == 600
    assert list(run.events.filter(kind="limit").values_list("message", flat=True)) == [
        "Endpoint simulated: resumed by grace.",
        "Endpoint simulated: paused by grace.",
    ]


def test_runs_of_other_endpoints_go_on_while_one_is_paused(
    ada: User, grace: User, endpoint: Endpoint, document: Any, simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=0)
    Endpoint.objects.create(name="second", kind=endpoint.kind, max_concurrent=50)
    other = {**document, "models": ["second/sim-small"]}
    with running_worker(threads=2):
        waiting = create_run(ada, {**document, "cache": "off", "repeats": 5})
        wait_until(lambda: simulator.ledger()["in_flight"] == 12)
        pause_endpoint(grace, endpoint)
        simulator.change(hold_after=None, latency_ms=300)  # what is left would take long
        assert finish(create_run(ada, other)).state == RunState.COMPLETED
        waiting.refresh_from_db()
        assert not waiting.is_finished
        late = create_run(ada, document)
        wait_until(lambda: Run.objects.get(pk=late.pk).state == RunState.RUNNING)
        assert Run.objects.get(pk=late.pk).reason == "Waiting: endpoint simulated is paused"
        simulator.change(latency_ms=0)
        resume_endpoint(grace, endpoint)
        assert finish(late).state == RunState.COMPLETED
        assert finish(waiting).state == RunState.COMPLETED
