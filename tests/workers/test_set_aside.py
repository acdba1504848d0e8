"""A model that fails keeps back its own trials only."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import ChunkState, RunState
from runs.services.runs import cancel_run, create_run
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_other_models_of_a_run_go_on_while_one_fails(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=5)
    models = ["simulated/sim-small:500", "simulated/sim-large"]
    with running_worker():
        run = create_run(ada, {**document, "models": models})
        good = run.candidates.filter(document__model__model="sim-large")
        wait_until(lambda: sum(good.values_list("done", flat=True)) == 60)
        # Now and then some are taken up, and set aside again.
        wait_until(lambda: run.chunks.filter(state=ChunkState.SET_ASIDE).exists())
        run.refresh_from_db()
        assert run.state == RunState.RUNNING  # its other trials may still get an answer
        assert run.done - run.scored <= 12
        assert cancel_run(run)
    assert not run.chunks.filter(state=ChunkState.SET_ASIDE).exists()


@pytest.mark.late
def test_what_was_set_aside_is_taken_up_when_the_model_answers_again(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=5)
    fault = {"do": "status", "status": 503, "times": 1000, "match": {"model": "sim-small"}}
    simulator.play(fault)
    with running_worker():
        run = create_run(ada, document)
        wait_until(lambda: run.chunks.filter(state=ChunkState.SET_ASIDE).exists())
        simulator.play()
        finish(run)
    assert (run.done, run.planned) == (120, 120)
    assert run.failed <= 24  # those whose attempts were used up before the breaker opened
    assert not run.chunks.exclude(state=ChunkState.DONE).exists()
