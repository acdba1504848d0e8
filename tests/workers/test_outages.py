"""A model that fails for good: its runs come to an end that a person can read."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Endpoint, Run, RunState
from runs.selectors.endpoints.permit_state import read_permits
from runs.services.control.endpoint_pauses import reset_breaker
from runs.services.control.outages import HOPELESS_SECONDS, pause_hopeless
from runs.services.control.resuming import resume_run
from runs.services.runs import create_run
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)

SHORT = 0.3  # seconds, in place of ten minutes


def is_open(endpoint: Endpoint, *models: str) -> bool:
    states = read_permits([(endpoint.pk, model) for model in models])
    return states is not None and all(state.failing_seconds > SHORT for state in states.values())


def test_a_run_whose_models_all_fail_pauses_and_can_be_tried_again(
    ada: User,
    document: dict[str, Any],
    endpoint: Endpoint,
    simulator: SimulatorClient,
) -> None:
    simulator.change(error_rate=1.0)
    with running_worker():
        run = create_run(ada, {**document, "cache": "off"})
        wait_until(lambda: is_open(endpoint, "sim-small", "sim-large"))
        pause_hopeless(HOPELESS_SECONDS)
        run.refresh_from_db()
        assert run.state == RunState.RUNNING  # not yet
        pause_hopeless(SHORT)
        wait_until(lambda: Run.objects.get(pk=run.pk).state == RunState.PAUSED)
        run.refresh_from_db()
        assert run.reason == (
            "simulated/sim-large, simulated/sim-small have failed every call for 1 minute: "
            "look at the endpoint, then resume to try again"
        )
        resume_run(run, ada)
        pause_hopeless(HOPELESS_SECONDS)
        run.refresh_from_db()
        assert run.state == RunState.RUNNING  # it has its time again
        simulator.change(error_rate=0.0, hold_after=0)  # no probe closes a breaker meanwhile
        assert reset_breaker(User(is_staff=True), endpoint) == 2
        simulator.change(hold_after=None)
        finish(run)
    assert run.done == 120


def test_one_broken_model_ends_the_wait_and_is_named_alone(
    ada: User, document: dict[str, Any], endpoint: Endpoint, simulator: SimulatorClient
) -> None:
    simulator.play({"match": {"model": "sim-large"}, "times": 1000, "do": "status", "status": 500})
    with running_worker():
        run = create_run(ada, {**document, "cache": "off"})
        wait_until(lambda: is_open(endpoint, "sim-large"))

        def is_paused() -> bool:
            pause_hopeless(SHORT)
            return Run.objects.get(pk=run.pk).state == RunState.PAUSED

        wait_until(is_paused)
    assert Run.objects.get(pk=run.pk).reason.startswith("simulated/sim-large has failed every call")
