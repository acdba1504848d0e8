"""Budgets that run out while calls fly: the provider's ledger is the judge, not our own count."""

import time
from typing import Any

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User

from runs.models import Chunk, ChunkState, Endpoint, Run, RunState
from runs.services.control.limits import retune_run
from runs.services.control.resuming import resume_run
from runs.services.runs import create_run
from tests.harness.patience import wait_until
from tests.workers.test_costs import LARGE, SMALL
from tests.workers.working import finish, running_worker
from workers.engine.calling.calls import EXPECTED_ANSWER_TOKENS
from workers.engine.calling.prices import TOKENS
from workers.engine.errors import ConfigurationError
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

LIMIT = 12  # calls at once, by the document
# What a worker reserves for a call of the dearest model before it has seen an answer: it may be the
# one that finds no room for another.
FIRST_GUESS = (100 * LARGE["input"] + EXPECTED_ANSWER_TOKENS * LARGE["output"]) / TOKENS


@pytest.fixture
def uncached(document: dict[str, Any], simulator: SimulatorClient) -> dict[str, Any]:
    """240 trials, 20 ms each."""
    simulator.change(latency_ms=20)
    return {**document, "cache": "off", "repeats": 2}


def paused(run: Run) -> Run:
    def is_paused() -> bool:
        run.refresh_from_db()
        return run.state == RunState.PAUSED

    wait_until(is_paused)
    return run


def be_taken_for_dead(run: Run, worker: str) -> None:
    """What time would bring about: its leases in the database and in Redis run out."""
    held = Chunk.objects.filter(run=run, state=ChunkState.LEASED, owner__contains=worker)
    names = set(held.values_list("owner", flat=True))
    held.update(lease_until=run.created)
    key = f"permits:expires:run:{run.pk}"
    redis.Redis.from_url(settings.REDIS_URL).zadd(key, {f"|{name}": 1 for name in names})


def calls_known_to_redis(run: Run) -> int:
    known = redis.Redis.from_url(settings.REDIS_URL).hget(
        f"permits:state:run:{run.pk}", "calls_used"
    )
    return int(known or 0)


def warnings_of(run: Run) -> list[str]:
    return list(run.events.filter(kind="budget").values_list("message", flat=True))


def paused_after_warning(run: Run, simulator: SimulatorClient, warnings: int) -> Run:
    """Calls wait until what is stored warns. Else a worker might stop the run before the other one
    has written anything, and of a run that is stopped nobody is warned."""
    wait_until(lambda: len(warnings_of(run)) == warnings)
    simulator.change(hold_after=None)
    return paused(run)


@pytest.mark.late
def test_not_one_call_more_than_the_budget_and_on_with_it_when_it_is_raised(
    ada: User, uncached: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=85)
    uncached["budget"] = {"calls": 100}
    with running_worker(), running_worker():
        run = paused_after_warning(create_run(ada, uncached), simulator, 1)
        assert simulator.ledger()["total"] == run.calls_sent == run.done == 100
        # Workers see it first, or what is stored does: one text says how much that was.
        assert run.reason.startswith("The budget of 100 calls is used up")
        assert run.reason.endswith(": raise it to resume, or cancel the run")
        assert not run.chunks.filter(state=ChunkState.LEASED).exists()
        assert len(warnings_of(run)) == 1
        assert warnings_of(run)[0].startswith("80 % of the budget is used: ")
        with pytest.raises(ConfigurationError, match="Raise it to resume the run"):
            resume_run(run, ada)
        assert retune_run(run, ada, {"budget": {"calls": 150}}, "worth it")
        simulator.change(hold_after=25)
        assert resume_run(run, ada)
        paused_after_warning(run, simulator, 2)
        assert simulator.ledger()["total"] == run.calls_sent == 150
        assert len(warnings_of(run)) == 2
        assert retune_run(run, ada, {"budget": {"calls": None}}, "go on")
        assert resume_run(run, ada)
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 240, 0)
    assert simulator.ledger()["total"] == 240


def test_retries_count_and_a_budget_of_just_enough_lets_the_run_complete(
    ada: User, uncached: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.play({"match": {}, "times": 3, "do": "status", "status": 500})
    uncached["budget"] = {"calls": 243}
    with running_worker():
        run = finish(create_run(ada, uncached))
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 240, 0)
    assert simulator.ledger()["total"] == run.calls_sent == 243


def test_cached_answers_cost_nothing(
    ada: User, document: dict[str, Any], simulator: SimulatorClient, endpoint: Endpoint
) -> None:
    Endpoint.objects.update(prices={"sim-small": SMALL, "sim-large": LARGE})
    budget = {"calls": 1, "dollars": 1e-9}
    with running_worker():
        finish(create_run(ada, document))
        run = finish(create_run(ada, {**document, "budget": budget}))
    assert (run.state, run.cached, run.calls_sent) == (RunState.COMPLETED, 120, 0)


@pytest.mark.alone
def test_dollars_are_reserved_before_they_are_spent(
    ada: User, uncached: dict[str, Any], simulator: SimulatorClient
) -> None:
    Endpoint.objects.update(prices={"sim-small": SMALL, "sim-large": LARGE})
    with running_worker(), running_worker():
        whole = finish(create_run(ada, uncached))
        dearest = max(cost or 0.0 for cost in whole.scores.values_list("cost", flat=True))
        budget = whole.cost / 2
        run = paused(create_run(ada, {**uncached, "budget": {"dollars": budget}}))
        assert "is used up" in run.reason
        assert budget - FIRST_GUESS < run.cost < budget + LIMIT * dearest
        with pytest.raises(ConfigurationError):
            resume_run(run, ada)
        assert retune_run(run, ada, {"budget": {"dollars": whole.cost * 2}}, "worth it")
        assert resume_run(run, ada)
        finish(run)
    assert (run.state, run.done) == (RunState.COMPLETED, 240)
    assert run.cost == pytest.approx(whole.cost)


@pytest.mark.alone
def test_seconds_count_while_the_run_goes_on(
    ada: User, uncached: dict[str, Any], simulator: SimulatorClient
) -> None:
    uncached["budget"] = {"seconds": 2}
    uncached["repeats"] = 50
    with running_worker():
        run = paused(create_run(ada, uncached))
        assert 2 <= run.ran_seconds < 5
        assert run.reason.startswith("The budget of 2.0 s is used up")
        time.sleep(1)
        assert retune_run(run, ada, {"budget": {"seconds": run.ran_seconds + 1}}, "a little more")
        assert resume_run(run, ada)
        before = run.ran_seconds
        paused(run)
    assert 1 <= run.ran_seconds - before < 4


@pytest.mark.late
def test_a_budget_holds_when_redis_forgets_everything(
    ada: User, uncached: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=80)
    uncached["budget"] = {"calls": 120}
    with running_worker(), running_worker():
        run = create_run(ada, uncached)
        wait_until(lambda: simulator.ledger()["total"] == 80 + LIMIT)
        redis.Redis.from_url(settings.REDIS_URL).flushall()
        # Told by whoever asks first, or stored: all but those in flight, as it should be.
        wait_until(lambda: calls_known_to_redis(run) >= 80)
        simulator.change(hold_after=None)
        paused(run)
    assert 120 <= simulator.ledger()["total"] <= 120 + LIMIT


def test_calls_of_a_worker_that_died_were_sent_too(
    ada: User, uncached: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(hold_after=40)
    uncached["budget"] = {"calls": 100}
    with running_worker() as doomed:
        run = create_run(ada, uncached)
        wait_until(lambda: simulator.ledger()["total"] == 40 + LIMIT)
        doomed.kill()
        doomed.join()
    simulator.change(hold_after=None)
    be_taken_for_dead(run, f":{doomed.pid}:")
    with running_worker():
        paused(run)
        assert simulator.ledger()["total"] <= 100
        assert "is used up" in run.reason
        assert run.calls_sent == run.done <= 100
        with pytest.raises(ConfigurationError):
            resume_run(run, ada)
