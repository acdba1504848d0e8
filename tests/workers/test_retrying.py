"""Failed trials run again by real workers, and runs that only fail are stopped."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Run, RunState, Score
from runs.services.control.resuming import resume_run
from runs.services.control.retrying import rerun_trial, retry_failed
from runs.services.runs import create_run
from tests.harness.patience import wait_until
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def is_in(run: Run, state: RunState) -> bool:
    run.refresh_from_db()
    return run.state == state


@pytest.mark.late
def test_only_failed_trials_are_tried_again_and_one_trial_past_the_cache(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=5)
    simulator.play({"do": "status", "status": 404, "times": 7})
    with running_worker():
        run = finish(create_run(ada, document))
        assert (run.state, run.failed) == (RunState.COMPLETED_WITH_ERRORS, 7)
        kept = set(Score.objects.filter(run=run, error_class="").values_list("pk", flat=True))
        simulator.reset()
        assert retry_failed(run, ada) == 7
        finish(run)
        assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 120, 0)
        assert simulator.ledger()["total"] == 7
        assert kept < set(run.scores.values_list("pk", flat=True))
        assert rerun_trial(run, ada, 0)
        finish(run)
    assert simulator.ledger()["total"] == 8
    assert (run.state, run.done, run.calls_sent) == (RunState.COMPLETED, 120, 128)
    assert run.scores.get(position=0).cached is False


def test_a_run_that_only_fails_is_paused_before_it_burns_money(
    ada: User, document: dict[str, Any], simulator: SimulatorClient
) -> None:
    simulator.change(latency_ms=5)
    simulator.play({"do": "status", "status": 401, "times": 1000})
    with running_worker():
        run = create_run(ada, document)
        wait_until(lambda: is_in(run, RunState.PAUSED))
        assert simulator.ledger()["total"] <= 20 + 12  # a streak and the slots
        assert "in a row failed with “credentials”" in run.reason
        simulator.play()
        assert resume_run(run, ada)
        finish(run)
        failed = run.failed
        assert retry_failed(run, ada) == failed
        finish(run)
    assert (run.state, run.done, run.failed) == (RunState.COMPLETED, 120, 0)
