"""Rounds of a trial or two stay with the worker that finished the last one."""

from typing import Any

import pytest

from runs.models import Run, RunState
from runs.selectors.runs.stored_history import stored_history
from runs.services.chunks.grown_chunks import plan_round, take_session
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import Results, record_results
from runs.services.chunks.recovery import reclaim_expired
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run
from runs.services.runs import cancel_run, create_run
from tests.harness.patience import wait_until
from tests.workers.by_hand import in_one_process, lease_of, next_lease, plain
from tests.workers.test_recording import expire
from tests.workers.working import finish, running_worker
from workers.engine.records import Score
from workers.engine.session import as_told
from workers.simulator.demo import make_questions

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = [question._asdict() for question in make_questions(10)]


@pytest.fixture
def single(selection):
    """A decision after every trial."""
    strategy = {"name": "matrix_ucb", "batch": 1, "share": 0.6}
    return {**selection, "strategy": strategy, "dataset": {"name": "sums", "first": 10}}


def test_many_rounds_need_no_message_and_give_the_same_table(alice, single, simulator):
    expected = in_one_process(single, simulator, ROWS)
    with running_worker(), running_worker():
        run = finish(create_run(alice, single))
    assert plain(stored_history(run)) == expected
    assert run.done == run.asked == run.planned == 24
    (chunk,) = run.chunks.all()
    assert [trial[0] for trial in chunk.trials] == list(range(24))


def test_a_large_round_is_shared_and_the_small_ones_behind_it_are_not(alice, selection, simulator):
    selection["strategy"] = {"name": "epsilon_lucb", "n_initial": 10, "confidence": 3.0}
    expected = in_one_process(selection, simulator)
    with running_worker():
        run = finish(create_run(alice, selection))
    assert plain(stored_history(run)) == expected
    sizes = [len(chunk.trials) for chunk in run.chunks.all()]
    assert sum(sizes) == run.asked > 40
    assert len(sizes) <= 8 + 2  # the first 40 trials in chunks of 6, two trials a round after that


def test_a_pause_takes_effect_between_rounds_and_the_rest_follows_later(alice, single, simulator):
    expected = in_one_process(single, simulator, ROWS)
    simulator.change(hold_after=6)  # of 48 calls: most rounds are left
    run = create_run(alice, single)
    with running_worker():
        wait_until(lambda: Run.objects.get(pk=run.pk).done > 0)
        pause_run(run, alice)
        simulator.change(hold_after=None, latency_ms=500)  # what is left would take long
        wait_until(lambda: Run.objects.get(pk=run.pk).state == RunState.PAUSED)
        run.refresh_from_db()
        assert 0 < run.done < 24
        simulator.change(latency_ms=0)
        resume_run(run, alice)
        finish(run)
    assert plain(stored_history(run)) == expected


def test_others_have_their_turn(alice, single, simulator):
    """One thread: the run that came second is not kept until the first one has ended."""
    simulator.change(latency_ms=20)
    long = create_run(alice, {**single, "repeats": 10, "cache": "off"})
    few = {**single["strategy"], "budget": 4}
    with running_worker(threads=1):
        wait_until(lambda: Run.objects.get(pk=long.pk).done > 0)
        short = finish(create_run(alice, {**single, "strategy": few, "cache": "off"}))
        assert cancel_run(long)  # it had not ended
    assert short.state == RunState.COMPLETED


def right(lease, position):
    trials = [*lease.work.trials, *lease.growth.trials]
    return [Score(trial, value=1.0, passed=True) for trial in trials if trial.position == position]


def go_on(lease, rounds):
    """As a worker does that goes on for some rounds, and finds every answer right."""
    found = right(lease, 0)
    session = take_session(lease, found)
    assert session is not None
    for position in range(1, rounds + 1):
        planned = plan_round(lease, session, found[-1:], lambda work: [], is_turn_over=False)
        assert planned is not None
        lease.growth.trials.extend(planned.work.trials)
        found += right(lease, position)
    return found


def results_of(lease, scores):
    return Results(leases={lease.chunk_id: lease}, scores={lease.chunk_id: scores})


@pytest.fixture
def lease(alice, single):
    run = create_run(alice, single)
    advance_run(run.pk)
    return next_lease(run)


@pytest.mark.postgresql("fenced writes: a plan and its results in one")
def test_what_a_worker_plans_is_stored_with_what_it_found(lease):
    run = Run.objects.get(pk=lease.parts.run_id)
    found = go_on(lease, 3)
    for _ in range(2):  # the second one as after a write that only seemed to fail
        assert record_results(run.pk, results_of(lease, found[:3])) == set()
        run.refresh_from_db()
        assert (run.asked, run.done) == (4, 3)
        assert len(run.chunks.get().trials) == 4
    advance_run(run.pk)
    assert run.chunks.count() == 1  # nobody else plans while a worker goes on
    assert record_results(run.pk, results_of(lease, found[3:])) == set()
    advance_run(run.pk)
    assert run.chunks.count() == 1  # nor between two of its rounds


def test_a_strategy_learns_the_same_from_fresh_and_from_stored_scores(lease):
    run = Run.objects.get(pk=lease.parts.run_id)
    (trial,) = lease.work.trials
    used: dict[str, Any] = {"latency_ms": 12.3, "tokens_in": 5, "cost": 0.25, "full_cost": 0.5}
    score = Score(trial, value=1.0, passed=True, answer="4", cached=True, **used)
    record_results(run.pk, results_of(lease, [score]))
    assert stored_history(run) == [as_told(score, frozenset())]


@pytest.mark.postgresql("fenced writes: neither plan nor result of a lost lease")
def test_of_a_lost_lease_neither_plan_nor_result_is_stored(lease):
    run = Run.objects.get(pk=lease.parts.run_id)
    expire(lease)
    reclaim_expired()
    assert record_results(run.pk, results_of(lease, go_on(lease, 3))) == {lease.chunk_id}
    run.refresh_from_db()
    assert (run.asked, run.done) == (1, 0)
    again = lease_of(lease.chunk_id, "another")
    assert [trial.position for trial in again.work.trials] == [0]
