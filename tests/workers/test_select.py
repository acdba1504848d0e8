"""Kind `select` through real workers: the same choice as in one process, also after a crash."""

import os
import signal
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.kinds.select.standing import selection_of
from runs.models import Run, RunState
from runs.selectors.runs.stored_history import stored_history
from runs.services.control.retrying import retry_failed
from runs.services.runs import create_run
from tests.harness.patience import wait_until
from tests.workers.selecting import in_one_process, plain
from tests.workers.working import finish, running_worker
from workers.simulator.testing import SimulatorClient

pytestmark = pytest.mark.django_db(transaction=True)


def test_workers_choose_as_one_process_does(
    ada: User, selection: dict[str, Any], simulator: SimulatorClient
) -> None:
    expected = in_one_process(selection, simulator)
    with running_worker():
        run = finish(create_run(ada, selection))
    assert run.state == RunState.COMPLETED
    assert plain(stored_history(run)) == expected
    assert run.planned == run.done == run.asked == len(expected)
    assert run.calls_retried == 0


@pytest.mark.late
@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param({"name": "paired_elimination", "batch": 4}, id="rounds for many"),
        pytest.param({"name": "matrix_ucb", "batch": 1, "share": 0.6}, id="rounds of one trial"),
    ],
)
def test_a_killed_worker_changes_nothing(
    ada: User, selection: dict[str, Any], simulator: SimulatorClient, strategy: dict[str, Any]
) -> None:
    selection["strategy"] = strategy
    expected = in_one_process(selection, simulator)
    simulator.change(latency_ms=40)
    run = create_run(ada, {**selection, "cache": "off"})
    with running_worker() as first:
        wait_until(lambda: Run.objects.get(pk=run.pk).done >= 16)
        os.kill(int(first.pid or 0), signal.SIGKILL)
    with running_worker():
        finish(run)
    assert plain(stored_history(run)) == expected


def test_what_fails_for_good_is_given_up_and_fails_again_when_it_is_retried(
    ada: User, selection: dict[str, Any], simulator: SimulatorClient
) -> None:
    selection["steps"][1]["models"] = ["simulated/sim-small:400", "simulated/sim-large"]
    with running_worker():
        run = finish(create_run(ada, selection))
        before = plain(stored_history(run))
        assert retry_failed(run, ada) == run.failed > 0
        finish(run)
    assert run.state == RunState.COMPLETED_WITH_ERRORS
    assert plain(stored_history(run)) == before
    rows = selection_of(run).rows
    assert "sim-large" in rows[0].name.split(" + ")[1]
    assert all(row.why for row in rows if "sim-small:400" in row.name)
