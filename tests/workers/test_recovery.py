"""Chunks whose workers die: taken back, then halved, until the trial that kills stands alone."""

from datetime import timedelta

import pytest
from django.utils import timezone

from runs.models import Chunk, ChunkState, RunEvent
from runs.services.chunks.leases import lease_chunk
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recording import record_results
from runs.services.chunks.recovery import reclaim_expired, sweep
from tests.workers.test_recording import results_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.postgresql("leases: taken back, and chunks halved, by conditional updates"),
]

PAST = timedelta(minutes=1)


def first_chunk(run):
    return run.chunks.order_by("start")[0]


def die_with(chunk, owner="worker"):
    """A worker takes the chunk and is not heard of again."""
    lease = lease_chunk(chunk.pk, owner)
    assert lease is not None
    Chunk.objects.filter(pk=chunk.pk).update(lease_until=timezone.now() - PAST)
    reclaim_expired()
    return lease


def sizes(run):
    return [len(chunk.trials) for chunk in run.chunks.order_by("start")][:4]


def test_from_the_second_death_on_a_chunk_is_halved(run):
    die_with(first_chunk(run))
    chunk = first_chunk(run)
    assert (chunk.state, chunk.deaths, sizes(run)) == (ChunkState.PENDING, 1, [6, 6, 6, 6])
    die_with(chunk)
    assert sizes(run) == [3, 3, 6, 6]
    die_with(first_chunk(run))
    assert sizes(run) == [1, 2, 3, 6]
    positions = [trial[0] for chunk in run.chunks.order_by("start") for trial in chunk.trials]
    assert positions == list(range(120))


def test_only_what_is_not_yet_scored_is_halved(run):
    die_with(first_chunk(run))
    lease = lease_chunk(first_chunk(run).pk, "worker")
    assert lease is not None
    some = results_of(lease, finished=False)
    some.scores[lease.chunk_id] = some.scores[lease.chunk_id][:2]
    record_results(run.pk, some)
    Chunk.objects.filter(pk=lease.chunk_id).update(lease_until=timezone.now() - PAST)
    reclaim_expired()
    assert [trial[0] for trial in first_chunk(run).trials] == [0, 1, 2, 3]
    assert sizes(run) == [4, 2, 6, 6]


def test_a_trial_that_kills_its_workers_is_given_up_alone(run):
    for _ in range(3):
        die_with(first_chunk(run))
    assert sizes(run)[0] == 1
    for _ in range(3):
        assert not run.scores.exists()
        die_with(first_chunk(run))
    score = run.scores.get()
    assert (score.position, score.error_class) == (0, "poison")
    assert score.error_message == "Its worker died 3 times while working on it."
    run.refresh_from_db()
    assert (run.done, run.failed) == (1, 1)
    for chunk in run.chunks.filter(state=ChunkState.PENDING):
        lease = lease_chunk(chunk.pk, f"worker of {chunk.pk}")
        assert lease is not None
        record_results(run.pk, results_of(lease))
    advance_run(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done, run.failed) == ("completed_with_errors", 120, 1)


def test_a_worker_takes_one_suspect_at_a_time(run):
    for _ in range(2):
        die_with(first_chunk(run))
    one, other = run.chunks.order_by("start")[:2]
    lease = lease_chunk(one.pk, "worker")
    assert lease is not None
    assert lease_chunk(other.pk, "worker") is None
    assert Chunk.objects.get(pk=other.pk).sent is None  # the sweep sends it again
    record_results(run.pk, results_of(lease))
    assert Chunk.objects.get(pk=other.pk).sent is not None  # or whoever is done with the first
    assert lease_chunk(other.pk, "worker") is not None


def test_results_that_come_too_late_are_noted(run):
    zombie = die_with(first_chunk(run))
    record_results(run.pk, results_of(zombie))
    event = RunEvent.objects.get(run=run, kind="discarded")
    assert event.data == {"scores": 6}
    assert "6 results came too late and did not count" in event.message
    assert not run.scores.exists()


def test_leases_are_left_alone_when_the_database_was_away(run):
    lease = lease_chunk(first_chunk(run).pk, "worker")
    assert lease is not None
    Chunk.objects.filter(pk=lease.chunk_id).update(lease_until=timezone.now() - PAST)
    sweep(may_reclaim=False)
    assert record_results(run.pk, results_of(lease)) == set()
    assert run.scores.count() == 6
