"""Retrying what failed in a selection: the strategy decides again, as if it had not failed."""

import zlib
from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.kinds.select.standing import selection_of
from runs.models import Run, RunState
from runs.selectors.runs.snapshot import can_retry
from runs.selectors.runs.stored_history import stored_history
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import Results, record_results
from runs.services.control.retrying import rerun_trial, retry_failed
from runs.services.runs import create_run
from tests.workers.by_hand import next_lease, work_through
from tests.workers.selecting import plain
from workers.engine.errors import ConfigurationError
from workers.engine.records import Score, Trial
from workers.engine.strategies import SELECTIONS

pytestmark = pytest.mark.django_db(transaction=True)


def answered(trial: Trial) -> Score:
    """Right as often as the candidate's key says, on the same cases each time."""
    skill = zlib.crc32(trial.candidate.encode()) % 90
    hardness = zlib.crc32(f"{trial.candidate} {trial.case}".encode()) % 100
    return Score(trial, value=float(hardness < skill), passed=True, latency_ms=5.0)


def partly_failed(trial: Trial) -> Score:
    if (trial.case + len(trial.candidate)) % 4 == 0 or trial.candidate < "8":
        return Score(trial, error="timeout", message="No full answer within 5 s.")
    return answered(trial)


def counts_of(run: Run) -> list[tuple[Any, ...]]:
    counts = ("done", "failed", "scored", "value_sum", "latency_bins")
    return [*run.candidates.values_list(*counts), tuple(getattr(run, name) for name in counts)]


@pytest.mark.parametrize("name", SELECTIONS)
def test_after_a_retry_the_run_is_as_if_nothing_had_failed(
    ada: User, selection: dict[str, Any], name: str
) -> None:
    selection["strategy"] = {"name": name}
    expected = work_through(create_run(ada, selection), answered)
    run = work_through(create_run(ada, selection), partly_failed)
    assert run.failed
    assert can_retry(run)
    assert retry_failed(run, ada) == run.failed
    work_through(run, answered)
    assert run.state == RunState.COMPLETED
    assert plain(stored_history(run)) == plain(stored_history(expected))
    assert run.planned == run.asked == run.done
    assert selection_of(run).rows == selection_of(expected).rows
    assert counts_of(run) == counts_of(expected)


def test_what_fails_again_changes_nothing(ada: User, selection: dict[str, Any]) -> None:
    run = work_through(create_run(ada, selection), partly_failed)
    before = plain(stored_history(run))
    retry_failed(run, ada)
    assert selection_of(run).rows  # the page, while scores in the middle are missing
    work_through(run, partly_failed)
    assert plain(stored_history(run)) == before
    assert run.state == RunState.COMPLETED_WITH_ERRORS


def test_a_changed_decision_is_told(ada: User, selection: dict[str, Any]) -> None:
    run = work_through(create_run(ada, selection), partly_failed)
    retry_failed(run, ada)
    work_through(run, answered)
    assert run.events.filter(message__contains="decides differently from trial").exists()


def test_nothing_is_retried_while_the_strategy_decides(
    ada: User, selection: dict[str, Any]
) -> None:
    run = create_run(ada, selection)
    advance_run(run.pk)
    lease = next_lease(run)
    results = Results(leases={lease.chunk_id: lease}, finished={lease.chunk_id})
    results.scores[lease.chunk_id] = [partly_failed(trial) for trial in lease.work.trials]
    record_results(run.pk, results)
    run.refresh_from_db()
    assert run.failed
    assert not can_retry(run)
    with pytest.raises(ConfigurationError, match="Let it end, or pause it"):
        retry_failed(run, ada)


def test_a_single_trial_of_a_selection_is_not_run_again(
    ada: User, selection: dict[str, Any]
) -> None:
    run = work_through(create_run(ada, selection), answered)
    with pytest.raises(ConfigurationError, match="duplicate the run"):
        rerun_trial(run, ada, 0)
