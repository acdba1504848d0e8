"""What a worker holds for its leases: nothing of a lost one counts for the next of its chunk."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

import workers.recorder
from runs.models import Chunk, ChunkState, Run
from runs.services.chunks.leases import Lease, lease_chunk
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recovery import reclaim_expired
from runs.services.runs import create_run
from tests.harness.patience import PATIENCE_SECONDS
from workers.database_thread import in_database
from workers.engine.ending_tasks import end_tasks
from workers.engine.records import Score
from workers.held_chunks import HeldChunk, HeldChunks, models_of
from workers.recorder import Recorder

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(ada: User, document: dict[str, Any]) -> Run:
    run = create_run(ada, document)
    advance_run(run.pk)
    return run


@pytest.fixture
async def recorder() -> AsyncIterator[Recorder]:
    yield Recorder(HeldChunks(), lambda run_id: 0, lambda: 0)
    await in_database(connections.close_all)


def first_chunk(run: Run) -> int:
    return int(run.chunks.all()[0].pk)


def lease_again(chunk_id: int) -> Lease:
    """The worker was frozen for longer than its lease; then it takes the same chunk."""
    past = timezone.now() - timedelta(minutes=1)
    Chunk.objects.filter(pk=chunk_id).update(lease_until=past)
    reclaim_expired()
    return lease(chunk_id)


def lease(chunk_id: int) -> Lease:
    found = lease_chunk(chunk_id, "worker")
    assert found is not None
    return found


def answered(chunk: HeldChunk, count: int) -> list[Score]:
    trials = chunk.lease.work.trials[:count]
    return [Score(trial, value=1.0, answer="4") for trial in trials]


def stored(run: Run, chunk_id: int) -> tuple[int, str]:
    return run.scores.count(), Chunk.objects.get(pk=chunk_id).state


async def test_the_late_end_of_a_lost_lease_does_not_end_the_next_one(run, recorder):
    chunk_id = await in_database(first_chunk, run)
    lost = recorder.open(await in_database(lease, chunk_id))
    leased = await in_database(lease_again, chunk_id)
    recorder.add(lost, answered(lost, 1)[0])
    heir = recorder.open(leased)
    assert lost.lost.is_set()
    recorder.add(lost, answered(lost, 2)[1])
    await recorder.close(lost)
    await recorder.write()
    assert await in_database(stored, run, chunk_id) == (0, ChunkState.LEASED)
    for score in answered(heir, 6):
        recorder.add(heir, score)
    await recorder.close(heir)
    await recorder.write()
    assert await in_database(stored, run, chunk_id) == (6, ChunkState.DONE)


async def test_what_comes_while_a_lost_lease_is_refused_is_dropped_with_it(run, recorder):
    chunk_id = await in_database(first_chunk, run)
    lost = recorder.open(await in_database(lease, chunk_id))
    heir = await in_database(lease_again, chunk_id)
    recorder.add(lost, answered(lost, 1)[0])
    writing = asyncio.create_task(recorder.write())
    await asyncio.sleep(0)  # it has taken what waits, and is being told that the lease is lost
    recorder.add(lost, answered(lost, 2)[1])
    await recorder.close(lost)
    await writing
    assert lost.lost.is_set()
    recorder.open(heir)
    await recorder.write()
    assert await in_database(stored, run, chunk_id) == (0, ChunkState.LEASED)


async def test_what_is_left_of_a_chunk_is_known_of_each_lease(run, recorder):
    chunk_id = await in_database(first_chunk, run)
    lost = recorder.open(await in_database(lease, chunk_id))
    heir = recorder.open(await in_database(lease_again, chunk_id))
    trials = heir.lease.work.trials
    places = {place for trial in trials for place in models_of(heir.lease, trial.candidate)}
    lost.take(answered(lost, 1)[0])
    for score in answered(heir, 5):
        heir.take(score)
    assert heir.waits_only_for(places)
    heir.take(answered(heir, 6)[5])
    assert not heir.waits_only_for(places)
    assert lost.waits_only_for(places)


def only_chunk(ada: User, selection: dict[str, Any]) -> int:
    """Of a selection that decides after every trial."""
    strategy = {"name": "matrix_ucb", "batch": 1}
    chosen = create_run(ada, {**selection, "strategy": strategy})
    advance_run(chosen.pk)
    return int(chosen.chunks.get().pk)


async def test_the_end_of_a_round_is_written_at_once_though_other_runs_go_on(
    ada, run, selection, recorder, monkeypatch
):
    """A strategy waits for it; the other run's results may wait for each other."""
    monkeypatch.setattr(workers.recorder, "WRITE_SECONDS", 600.0)
    other = recorder.open(await in_database(lease, await in_database(first_chunk, run)))
    only = await in_database(only_chunk, ada, selection)
    decisive = recorder.open(await in_database(lease, only))
    await recorder.write()
    recorder.add(other, answered(other, 1)[0])
    recorder.add(decisive, answered(decisive, 1)[0])
    writing = asyncio.create_task(recorder.run())
    await recorder.close(decisive)
    chunk = Chunk.objects.filter(pk=decisive.chunk_id, state=ChunkState.DONE)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await in_database(chunk.exists):
            pass  # each look takes a moment on the database's thread
    await end_tasks([writing])
    assert await in_database(run.scores.count) == 0
