"""What a worker writes: fenced by its lease, each trial at most once. And chunks whose workers die:
taken back, then halved, until the trial that kills stands alone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from runs.models import Chunk, ChunkState, RunEvent, RunState, Score
from runs.selectors.runs.snapshot import take_snapshot
from runs.services.chunks.leases import lease_chunk, load_parts, release_chunk, renew_leases
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import Results, record_results
from runs.services.chunks.recovery import reclaim_expired, sweep
from runs.services.control.rewinding import take_out
from runs.services.runs import create_run
from tests.workers.by_hand import lease_of
from workers.engine import records
from workers.engine.statistics.intervals import percentile
from workers.engine.strategies import SELECTIONS
from workers.engine.strategies.brute_force import BruteForce

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql("leases: claimed, fenced and counted by conditional updates"),
]


def results_of(lease, *, finished=True):
    results = Results(leases={lease.chunk_id: lease}, in_flight=3)
    results.scores[lease.chunk_id] = [
        records.Score(trial, value=1.0, passed=True, answer="4", latency_ms=10.0)
        for trial in lease.work.trials
    ]
    results.finished = {lease.chunk_id} if finished else set()
    return results


def take(run, place=0, owner="worker"):
    return lease_of(run.chunks.all()[place], owner)


def expire(lease):
    past = timezone.now() - timedelta(minutes=1)
    Chunk.objects.filter(pk=lease.chunk_id).update(lease_until=past)


def test_the_chart_and_the_run_count_the_same_latencies_and_candidates_all(run):
    """A cached answer keeps the latency of its original call, which this run did not make."""
    lease = take(run)
    results = results_of(lease)
    first, *rest = results.scores[lease.chunk_id]
    cached = [replace(score, cached=True, latency_ms=31_000.0) for score in rest]
    results.scores[lease.chunk_id] = [first, *cached]
    record_results(run.pk, results)
    run.refresh_from_db()
    [series] = [row for row in take_snapshot(run)["series"]["rows"] if row[-1] is not None]
    assert percentile(run.latency_bins, 0.95) == pytest.approx(series[-1], abs=0.1)
    assert sum(run.latency_bins.values()) == 1
    counts = [sum(one.latency_bins.values()) for one in run.candidates.all()]
    assert sum(counts) == len(lease.work.trials)


def test_what_is_only_told_counts_for_its_role_and_of_the_run_only_what_calls_use(run):
    lease = take(run)
    told = {lease.work.trials[0].candidate, lease.work.trials[1].candidate}
    run.candidates.filter(key__in=told).update(role=records.PROPOSE)
    load_parts.cache_clear()
    lease = replace(lease, parts=load_parts(run.pk))
    results = results_of(lease)
    used: dict[str, Any] = {"tokens_in": 5, "tokens_out": 2, "calls_sent": 1, "cost": 0.25}
    scores = [replace(score, **used) for score in results.scores[lease.chunk_id]]
    failed = records.Score(scores[0].trial, error="timeout", calls_sent=3)
    results.scores[lease.chunk_id] = [failed, replace(scores[1], cached=True), *scores[2:]]
    record_results(run.pk, results)
    run.refresh_from_db()
    counts = {"done": 2, "failed": 1, "sent": 4, "cached": 1, "cost": 0.25}
    assert run.by_role == {"propose": {**counts, "tokens_in": 5, "tokens_out": 2}}
    assert (run.done, run.failed, run.cached, run.scored, run.value_sum) == (4, 0, 0, 4, 4.0)
    assert (run.told("done"), run.told("failed"), run.calls_sent, run.cost) == (2, 1, 8, 1.25)
    assert (run.tokens_in, run.tokens_out, sum(run.latency_bins.values())) == (25, 10, 4)
    take_out(run, list(run.scores.all()))
    run.refresh_from_db()
    paid = {"done": 0, "failed": 0, "sent": 4, "cached": 0, "cost": 0.25}
    assert run.by_role == {"propose": {**paid, "tokens_in": 0, "tokens_out": 0}}
    assert (run.done, run.tokens_in, run.tokens_out, run.latency_bins) == (0, 0, 0, {})


def test_planning_cuts_all_trials_into_chunks_and_each_is_leased_once(run):
    assert run.state == "running"
    assert run.asked == run.planned == 120
    chunks = list(run.chunks.all())
    assert [chunk.start for chunk in chunks] == list(range(0, 120, 6))
    assert sum(len(chunk.trials) for chunk in chunks) == 120
    advance_run(run.pk)  # again: that adds nothing
    assert run.chunks.count() == 20
    lease = take(run)
    assert lease_of(lease.chunk_id, "another").chunk_id != lease.chunk_id


def test_as_many_messages_as_chunks_take_them_all(alice, run, document):
    """Runs take turns, so that messages of the one serve chunks of the other: none is left over."""
    small = create_run(alice, {**document, "name": "small"})
    advance_run(small.pk)
    named = [*run.chunks.all(), *small.chunks.all()]
    taken = {lease_of(chunk).chunk_id for chunk in named}
    assert taken == {chunk.pk for chunk in named}


def test_a_long_run_holds_no_more_chunks_than_its_slots_need(alice, document):
    run = create_run(alice, {**document, "repeats": 200})
    advance_run(run.pk)
    while (chunk := run.chunks.filter(state=ChunkState.PENDING).first()) and chunk.start < 120:
        # From the first one on its latency is known.
        record_results(run.pk, results_of(lease_of(chunk)))
    run.refresh_from_db()
    open_chunks = run.chunks.filter(state__in=ChunkState.at_work()).count()
    assert run.asked < run.planned
    assert 4 <= open_chunks <= 16  # those of six seconds; 64 would hold every thread


def test_results_are_written_once_and_an_heir_goes_on_where_the_dead_one_stopped(run):
    lease = take(run)
    assert record_results(run.pk, results_of(lease, finished=False)) == set()
    record_results(run.pk, results_of(lease))
    run.refresh_from_db()
    assert Score.objects.filter(run=run).count() == run.done == run.scored == 6
    assert run.peak_in_flight == 3
    dead = take(run, 1)
    partial = results_of(dead, finished=False)
    partial.scores[dead.chunk_id] = partial.scores[dead.chunk_id][:4]
    record_results(run.pk, partial)
    release_chunk(dead.chunk_id, dead.token)
    assert lease_of(dead.chunk_id, "heir").work.done == {
        trial.position for trial in dead.work.trials[:4]
    }


def test_a_zombie_writes_nothing_and_what_came_too_late_is_noted(run):
    zombie = take(run, owner="stopped")
    expire(zombie)
    reclaim_expired()
    heir = lease_of(zombie.chunk_id, "heir")
    assert record_results(run.pk, results_of(zombie)) == {zombie.chunk_id}
    assert not Score.objects.filter(run=run).exists()
    event = RunEvent.objects.get(run=run, kind="discarded")
    assert event.data == {"scores": 6}
    assert "6 results came too late and did not count" in event.message
    assert record_results(run.pk, results_of(heir)) == set()
    assert Score.objects.filter(run=run).count() == 6


def test_a_renewed_lease_is_not_reclaimed_and_a_lost_one_is_nobodys(run):
    lease = take(run)
    expire(lease)
    renew_leases({lease.chunk_id: lease.token})
    reclaim_expired()
    assert Chunk.objects.get(pk=lease.chunk_id).state == ChunkState.LEASED
    renew_leases({lease.chunk_id: lease.token - 1})
    release_chunk(lease.chunk_id, lease.token - 1)
    assert Chunk.objects.get(pk=lease.chunk_id).state == ChunkState.LEASED
    # It is left alone when the database was away.
    expire(lease)
    sweep(may_reclaim=False)
    assert record_results(run.pk, results_of(lease)) == set()
    assert run.scores.count() == 6


def test_a_small_run_does_not_wait_behind_a_large_one(alice, run, document):
    for place in range(6):
        take(run, place)
    small = create_run(alice, {**document, "name": "small"})
    advance_run(small.pk)
    named = run.chunks.filter(state=ChunkState.PENDING)[0]
    runs = [lease_of(named).parts.run_id for _ in range(8)]
    assert runs[:6] == [small.pk] * 6
    assert set(runs[6:]) == {run.pk, small.pk}


def test_a_run_of_high_priority_gets_more_chunks(alice, run, document):
    urgent = create_run(alice, {**document, "priority": "high"})
    advance_run(urgent.pk)
    chunk = run.chunks.all()[0]
    runs = [lease_of(chunk).parts.run_id for _ in range(8)]
    assert runs.count(urgent.pk) == 6


def test_a_run_ends_with_the_last_of_its_trials_and_not_without_some(run):
    leases = [take(run, place) for place in range(run.chunks.count())]
    for lease in leases[1:]:
        record_results(run.pk, results_of(lease))
    early = Chunk.objects.filter(pk=leases[0].chunk_id)
    early.update(state=ChunkState.DONE)  # as by a bug, with six trials that nobody scored
    advance_run(run.pk)
    run.refresh_from_db()
    assert (run.state, early.get().state) == ("running", ChunkState.PENDING)
    assert run.events.filter(kind="reopened").count() == 1
    record_results(run.pk, results_of(lease_of(leases[0].chunk_id, "another")))
    sweep()
    advance_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done) == ("completed", 120)
    assert run.ended is not None


class Raising(BruteForce):
    def learn(self):
        raise ZeroDivisionError("no arms are left")


class Starved(BruteForce):
    __module__ = "workers.engine.strategies"  # as one of ours

    def next_pulls(self):
        raise MemoryError


def test_a_strategy_that_raises_fails_its_run_and_a_worker_without_memory_none(
    alice, selection, monkeypatch
):
    for strategy in (Starved, Raising):
        monkeypatch.setitem(SELECTIONS.ours, strategy.__name__.lower(), strategy)
    starved = create_run(alice, {**selection, "strategy": "starved"})
    with pytest.raises(MemoryError):
        advance_run(starved.pk)
    starved.refresh_from_db()
    assert (starved.state, starved.reason) == (RunState.QUEUED, "Waiting for a worker.")
    run = create_run(alice, {**selection, "strategy": "raising"})
    advance_run(run.pk)
    while chunk := run.chunks.filter(state=ChunkState.PENDING).first():
        # The last one plans, and must not raise.
        record_results(run.pk, results_of(lease_of(chunk)))
    run.refresh_from_db()
    assert run.state == RunState.FAILED
    assert run.reason == "Planning failed: ZeroDivisionError: no arms are left"
    assert run.done == run.asked > 0


def first_chunk(run):
    return run.chunks.order_by("start")[0]


def die_with(chunk):
    """A worker takes the chunk and is not heard of again."""
    expire(lease_of(chunk))
    reclaim_expired()


def sizes(run):
    return [len(chunk.trials) for chunk in run.chunks.order_by("start")][:4]


def test_a_chunk_is_halved_with_each_death_until_the_trial_that_kills_is_given_up_alone(run):
    die_with(first_chunk(run))
    chunk = first_chunk(run)
    assert (chunk.state, chunk.deaths, sizes(run)) == (ChunkState.PENDING, 1, [6, 6, 6, 6])
    die_with(chunk)
    assert sizes(run) == [3, 3, 6, 6]
    die_with(first_chunk(run))
    assert sizes(run) == [1, 2, 3, 6]
    positions = [trial[0] for chunk in run.chunks.order_by("start") for trial in chunk.trials]
    assert positions == list(range(120))
    for _ in range(3):
        assert not run.scores.exists()
        die_with(first_chunk(run))
    score = run.scores.get()
    assert (score.position, score.error_class) == (0, "poison")
    assert score.error_message == "Its worker died 3 times while working on it."
    run.refresh_from_db()
    assert (run.done, run.failed) == (1, 1)
    for chunk in run.chunks.filter(state=ChunkState.PENDING):
        record_results(run.pk, results_of(lease_of(chunk, f"worker of {chunk.pk}")))
    advance_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done, run.failed) == ("completed_with_errors", 120, 1)


def test_only_what_is_not_yet_scored_is_halved(run):
    die_with(first_chunk(run))
    lease = lease_of(first_chunk(run))
    some = results_of(lease, finished=False)
    some.scores[lease.chunk_id] = some.scores[lease.chunk_id][:2]
    record_results(run.pk, some)
    expire(lease)
    reclaim_expired()
    assert [trial[0] for trial in first_chunk(run).trials] == [0, 1, 2, 3]
    assert sizes(run) == [4, 2, 6, 6]


def test_a_worker_takes_one_suspect_at_a_time(run):
    for _ in range(2):
        die_with(first_chunk(run))
    one, other = run.chunks.order_by("start")[:2]
    lease = lease_of(one)
    assert lease_chunk(other.pk, "worker") is None
    assert Chunk.objects.get(pk=other.pk).sent is None  # the sweep sends it again
    record_results(run.pk, results_of(lease))
    assert Chunk.objects.get(pk=other.pk).sent is not None  # or whoever is done with the first
    assert lease_chunk(other.pk, "worker") is not None
