"""Selections as they are stored: each strategy decides as it does in memory, whoever goes on with
it, and decides again, as if nothing had failed, when what failed is retried."""

import zlib

import pytest

from runs.kinds.select.standing import selection_of
from runs.models import RunState
from runs.selectors.runs.snapshot import can_retry
from runs.selectors.runs.stored_history import stored_history
from runs.services.chunks import leases
from runs.services.chunks.planning import advance_run
from runs.services.control.retrying import rerun_trial, retry_failed
from runs.services.runs import create_run
from tests.harness.table import table
from tests.workers.by_hand import plain, work_one_chunk, work_through
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.records import Score
from workers.engine.session import Session
from workers.engine.strategies import SELECTIONS

pytestmark = pytest.mark.django_db(transaction=True)

CASES = 10
MORE_THAN_ANY_ROUND = 1000


@pytest.fixture
def short(selection):
    return {**selection, "dataset": {"name": "sums", "first": CASES}}


def answered(trial):
    """Right as often as the candidate's key says, on the same cases each time."""
    skill = zlib.crc32(trial.candidate.encode()) % 90
    hardness = zlib.crc32(f"{trial.candidate} {trial.case}".encode()) % 100
    return Score(trial, value=float(hardness < skill), passed=True, latency_ms=5.0)


def partly_failed(trial):
    if (trial.case + len(trial.candidate)) % 4 == 0 or trial.candidate < "8":
        return Score(trial, error="timeout", message="No full answer within 5 s.")
    return answered(trial)


def in_memory(document, outcome):
    session = Session(read_configuration(document).begin(CASES))
    found = []
    while trials := session.plan(MORE_THAN_ANY_ROUND):
        found += [outcome(trial) for trial in trials]
        session.absorb(found[-len(trials) :])
    return plain(found)


def counts_of(run):
    counts = ("done", "failed", "scored", "value_sum", "latency_bins")
    return [*run.candidates.values_list(*counts), tuple(getattr(run, name) for name in counts)]


@table(*SELECTIONS)
def test_after_a_retry_the_run_is_as_if_nothing_had_failed(alice, short, set_constant, name):
    short["strategy"] = {"name": name}
    expected = work_through(create_run(alice, short), answered, in_turns=True)
    assert plain(stored_history(expected)) == in_memory(short, answered)
    set_constant(leases, "MOST_SHARED", 1)  # as of many: each chunk reads its own candidates
    run = work_through(create_run(alice, short), partly_failed)
    assert run.failed
    assert can_retry(run)
    assert retry_failed(run, alice) == run.failed
    work_through(run, answered)
    assert run.state == RunState.COMPLETED
    assert plain(stored_history(run)) == plain(stored_history(expected))
    assert run.planned == run.asked == run.done
    assert selection_of(run).rows == selection_of(expected).rows
    assert counts_of(run) == counts_of(expected)


def test_each_ends_though_a_model_and_a_case_always_fail(alice, short):
    short["steps"][1]["models"] = ["simulated/sim-small:400", "simulated/sim-large"]
    made = read_configuration(short).make_candidates()
    broken = {one.key for one in made if one.name.endswith(":400")}
    assert len(broken) == 2

    def outcome(trial):
        error = "refused" if trial.candidate in broken else "scorer_error"
        if trial.candidate in broken or trial.case == 3:
            return Score(trial, error=error, message="For good.")
        return answered(trial)

    chosen = {}
    for name in SELECTIONS:
        run = create_run(alice, {**short, "strategy": {"name": name}})
        work_through(run, outcome)
        assert run.state == RunState.COMPLETED_WITH_ERRORS, name
        rows = selection_of(run).rows
        if name == "paired_elimination":
            assert all(row.why for row in rows if row.key in broken)
        told = [row for row in rows if row.is_best]
        keys = list(run.candidates.order_by("position").values_list("key", flat=True))
        assert [row.key for row in told] == ([] if run.chosen is None else [keys[run.chosen]])
        for row in told:
            chosen[name] = row.key
    assert len(chosen) >= len(SELECTIONS) - 1  # a random search may see only what fails
    assert {name: key for name, key in chosen.items() if key in broken} == {}


def test_what_fails_again_changes_nothing_and_no_retry_comes_early(alice, selection, short):
    run = work_through(create_run(alice, selection), partly_failed)
    before = plain(stored_history(run))
    retry_failed(run, alice)
    assert selection_of(run).rows  # the page, while scores in the middle are missing
    work_through(run, partly_failed)
    assert plain(stored_history(run)) == before
    assert run.state == RunState.COMPLETED_WITH_ERRORS
    retry_failed(run, alice)
    work_through(run, answered)
    assert run.events.filter(message__contains="decides differently from trial").exists()
    with pytest.raises(ConfigurationError, match="duplicate the run"):
        rerun_trial(run, alice, 0)
    run = create_run(alice, short)
    advance_run(run.pk)
    work_one_chunk(run, partly_failed)
    assert run.failed
    assert not can_retry(run)
    with pytest.raises(ConfigurationError, match="Let it end, or pause it"):
        retry_failed(run, alice)
