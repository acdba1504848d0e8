"""`fail_on_error`: when a run with failing trials is stopped, and that a person decides then."""

import pytest

from runs.models import Run, RunState
from runs.services.control.failures import watch_failures
from runs.services.control.resuming import resume_run
from tests.harness.factories import make_run, run_document
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration

pytestmark = pytest.mark.django_db


def state_after(alice, dataset, allowed, failed, done):
    run = make_run(alice, dataset, state=RunState.RUNNING, ended=None, planned=1000)
    Run.objects.filter(pk=run.pk).update(
        failed=failed, done=done, document={**run.document, "fail_on_error": allowed}
    )
    run.refresh_from_db()
    watch_failures(run)
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(
    ("allowed", "failed", "done", "is_stopped"),
    [
        pytest.param(None, 500, 500, False, id="not asked for"),
        pytest.param(0.1, 2, 20, False, id="a tenth of twenty is allowed"),
        pytest.param(0.1, 3, 20, True, id="more than a tenth"),
        pytest.param(0.1, 2, 2, False, id="too few to say anything"),
        pytest.param(0.1, 3, 3, True, id="more than a tenth of twenty, whatever comes"),
        pytest.param(5, 5, 900, False, id="five are allowed"),
        pytest.param(5, 6, 900, True, id="six are not"),
    ],
)
def test_a_run_is_stopped_by_share_or_count(alice, dataset, allowed, failed, done, is_stopped):
    run = state_after(alice, dataset, allowed, failed, done)
    assert (run.state == RunState.PAUSED) == is_stopped


def test_who_resumes_it_has_decided(alice, dataset):
    run = state_after(alice, dataset, 0.1, 30, 100)
    assert run.reason == (
        "30 of 100 trials failed, and fail_on_error allows 10 %: see Errors, then resume or cancel"
    )
    assert resume_run(run, alice)
    run.refresh_from_db()
    watch_failures(run)
    run.refresh_from_db()
    assert run.state == RunState.RUNNING


def test_what_is_neither_share_nor_count_is_refused(dataset):
    for value in (0, -1, 2.5, "many"):
        with pytest.raises(ConfigurationError, match="fail_on_error"):
            read_configuration(run_document(dataset, fail_on_error=value))
