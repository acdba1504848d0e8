"""Candidates that are born while a run goes on, through real workers and their deaths."""

import os
import signal
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Run, RunState
from runs.selectors.runs.stored_history import stored_history
from runs.services.runs import create_run
from tests import toy_kind
from tests.workers.selecting import in_one_process, plain
from tests.workers.working import finish, running_worker, wait_until
from workers.engine.kinds import KINDS
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 5


@pytest.fixture
def toy(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(KINDS, "toy", toy_kind.Toy)
    kept = {name: document[name] for name in ("name", "dataset", "scorers", "limits")}
    prompt = {"name": "first", "system": "Answer with the number only."}
    model = "simulated/sim-small"
    return {**kept, "kind": "toy", "prompt": prompt, "model": model, "rounds": ROUNDS}


def test_a_killed_worker_bears_no_candidate_twice_and_loses_none(
    ada: User, toy: dict[str, Any], simulator: SimulatorClient
) -> None:
    expected = in_one_process(toy, simulator)
    simulator.change(latency_ms=30)
    run = create_run(ada, {**toy, "cache": "off"})
    assert run.candidates.count() == 1
    with running_worker(also=toy_kind.__name__) as first:
        wait_until(lambda: Run.objects.get(pk=run.pk).candidates.count() >= 2)
        os.kill(int(first.pid or 0), signal.SIGKILL)
    with running_worker(also=toy_kind.__name__):
        finish(run)
    assert run.state == RunState.COMPLETED
    assert plain(stored_history(run)) == expected
    born = list(run.candidates.order_by("position").values_list("key", flat=True))
    assert born == list(dict.fromkeys(trial.candidate for trial, _, _ in expected))
    assert len(born) == ROUNDS
    assert [c.done for c in run.candidates.all()] == [len(expected) // ROUNDS] * ROUNDS
