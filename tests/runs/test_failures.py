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


STOPPED = {
    (None, 500, 500): False,  # not asked for
    (0.1, 2, 20): False,  # a tenth of twenty is allowed
    (0.1, 3, 20): True,  # more than a tenth
    (0.1, 2, 2): False,  # too few to say anything
    (0.1, 3, 3): True,  # more than a tenth of twenty, whatever comes
    (5, 5, 900): False,  # five are allowed
    (5, 6, 900): True,  # six are not
}


def test_a_run_is_stopped_by_share_or_count(alice, dataset):
    states = {facts: state_after(alice, dataset, *facts).state for facts in STOPPED}
    assert {facts: state == RunState.PAUSED for facts, state in states.items()} == STOPPED


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
