"""A mutation through a real worker that is killed on the way comes to the same weights."""

import asyncio
import os
import signal
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from runs.models import Run, RunState
from runs.selectors.limits.limits import configuration_now
from runs.services.chunks.planning import session_of
from runs.services.runs import create_run
from tests.engine.mutate.training_runs import mutation, train
from tests.harness.factories import client_of
from tests.harness.patience import PATIENCE_SECONDS, wait_until
from tests.workers.working import finish, running_worker
from workers.engine.records import EVALUATE
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)
UPDATES, PROCESSES, STEPS, KILLED_IN = 3, 4, 3, 2
TARGET, ASKED = "sim-small", STEPS + 1  # in a segment: the query as it was, then each step's


@pytest.fixture
def mutate(document: dict[str, Any]) -> dict[str, Any]:
    strategy = {"name": "ppo", "num_processes": PROCESSES, "num_steps": STEPS, "updates": UPDATES}
    limits = {"max_concurrent": 8, "timeout_seconds": PATIENCE_SECONDS}
    return mutation(dataset=document["dataset"], strategy=strategy, limits=limits, held_out=4)


def is_in_update(run: Run, number: int) -> bool:
    """Its policy is born, and some of its segments are not done."""
    policy = run.candidates.filter(name=f"update {number}").first()
    return policy is not None and policy.done < PROCESSES


def weights_of(run: Run) -> str:
    found: str = run.candidates.order_by("position").last().document["weights"]  # type: ignore[union-attr]
    return found


def test_a_killed_worker_changes_nothing_of_the_weights(
    ada: User, mutate: dict[str, Any], simulator: SimulatorClient
) -> None:
    expected = asyncio.run(train(mutate, simulator.url, questions=20)).weights
    # All of the updates before it, and of its own one segment's worth: it cannot end.
    answered = ((KILLED_IN - 1) * PROCESSES + 1) * ASKED
    simulator.play(
        {"match": {"model": TARGET}, "do": "pass", "times": answered},
        {"match": {"model": TARGET}, "do": "hang", "times": None},
    )
    run = create_run(ada, {**mutate, "cache": "off"})
    assert run.candidates.count() == 1
    with running_worker() as first:
        wait_until(lambda: is_in_update(run, KILLED_IN))
        os.kill(int(first.pid or 0), signal.SIGKILL)
    simulator.play()
    assert is_in_update(run, KILLED_IN)
    with running_worker():
        finish(run)
    assert run.state == RunState.COMPLETED, run.reason
    assert weights_of(run) == expected
    assert run.planned == run.done == UPDATES * PROCESSES
    assert run.by_role["held_out"]["done"] == 3 * 4
    assert client_of(ada).get(reverse("run", args=[run.pk])).status_code == 200
    segments = run.scores.filter(candidate__role=EVALUATE)
    assert segments.values("candidate", "case", "repeat").distinct().count() == run.done


def test_a_long_replay_goes_on_in_turns(
    ada: User, mutate: dict[str, Any], simulator: SimulatorClient
) -> None:
    """Of more records than are read at once: between its turns leases are renewed."""
    strategy = {"name": "ppo", "num_processes": 64, "num_steps": 1, "updates": 5}
    with running_worker():
        run = finish(create_run(ada, {**mutate, "strategy": strategy}))
    assert run.state == RunState.COMPLETED, run.reason
    configuration = configuration_now(run)
    assert session_of(run, configuration, turn_seconds=0) is None
    session = session_of(run, configuration, turn_seconds=0)
    assert session is not None
    assert session.asked == session.told == run.asked
    keys = [one.key for one in session.candidates]
    assert keys == list(run.candidates.order_by("position").values_list("key", flat=True))
