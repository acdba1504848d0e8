"""What a worker holds for its leases, also when the database has no room."""

import asyncio

import pytest
from django.db import DatabaseError, connection, connections

import workers.recorder
from runs.models import Chunk, ChunkState
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recovery import reclaim_expired
from runs.services.runs import create_run
from tests.harness.patience import PATIENCE_SECONDS
from tests.workers.by_hand import lease_of
from tests.workers.test_recording import expire
from workers.database_thread import in_database
from workers.engine.ending_tasks import end_tasks
from workers.engine.records import Score
from workers.held_chunks import HeldChunks, models_of
from workers.recorder import Recorder
from workers.storage import is_storage_full

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def recorder():
    yield Recorder(HeldChunks(), lambda run_id: 0, lambda: 0)
    await in_database(connections.close_all)


def first_chunk(run):
    return int(run.chunks.all()[0].pk)


def lease_again(lost):
    """The worker was frozen for longer than its lease; then it takes the same chunk."""
    expire(lost.lease)
    reclaim_expired()
    return lease_of(lost.chunk_id)


@pytest.fixture
async def lost(run, recorder):
    """Its lease ends before the worker is done with it."""
    return recorder.open(await in_database(lease_of, await in_database(first_chunk, run)))


def answered(chunk, count):
    trials = chunk.lease.work.trials[:count]
    return [Score(trial, value=1.0, answer="4") for trial in trials]


def stored(run, chunk_id):
    return run.scores.count(), Chunk.objects.get(pk=chunk_id).state


async def test_the_late_end_of_a_lost_lease_does_not_end_the_next_one(run, recorder, lost):
    leased = await in_database(lease_again, lost)
    recorder.add(lost, answered(lost, 1)[0])
    heir = recorder.open(leased)
    assert lost.lost.is_set()
    recorder.add(lost, answered(lost, 2)[1])
    await recorder.close(lost)
    await recorder.write()
    assert await in_database(stored, run, lost.chunk_id) == (0, ChunkState.LEASED)
    for score in answered(heir, 6):
        recorder.add(heir, score)
    await recorder.close(heir)
    await recorder.write()
    assert await in_database(stored, run, lost.chunk_id) == (6, ChunkState.DONE)


async def test_what_comes_while_a_lost_lease_is_refused_is_dropped_with_it(run, recorder, lost):
    heir = await in_database(lease_again, lost)
    recorder.add(lost, answered(lost, 1)[0])
    writing = asyncio.create_task(recorder.write())
    await asyncio.sleep(0)  # it has taken what waits, and is being told that the lease is lost
    recorder.add(lost, answered(lost, 2)[1])
    await recorder.close(lost)
    await writing
    assert lost.lost.is_set()
    recorder.open(heir)
    await recorder.write()
    assert await in_database(stored, run, lost.chunk_id) == (0, ChunkState.LEASED)


async def test_what_is_left_of_a_chunk_is_known_of_each_lease(recorder, lost):
    heir = recorder.open(await in_database(lease_again, lost))
    trials = heir.lease.work.trials
    places = {place for trial in trials for place in models_of(heir.lease, trial.candidate)}
    lost.take(answered(lost, 1)[0])
    for score in answered(heir, 5):
        heir.take(score)
    assert heir.waits_only_for(places)
    heir.take(answered(heir, 6)[5])
    assert not heir.waits_only_for(places)
    assert lost.waits_only_for(places)


def only_chunk(alice, selection):
    """Of a selection that decides after every trial."""
    strategy = {"name": "matrix_ucb", "batch": 1}
    chosen = create_run(alice, {**selection, "strategy": strategy})
    advance_run(chosen.pk)
    return int(chosen.chunks.get().pk)


async def test_the_end_of_a_round_is_written_at_once_though_other_runs_go_on(
    alice, run, selection, recorder, monkeypatch
):
    """A strategy waits for it; the other run's results may wait for each other."""
    monkeypatch.setattr(workers.recorder, "WRITE_SECONDS", 600.0)
    other = recorder.open(await in_database(lease_of, await in_database(first_chunk, run)))
    only = await in_database(only_chunk, alice, selection)
    decisive = recorder.open(await in_database(lease_of, only))
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


# What each database has to make it say that it is full: a limit of pages, or an error on demand.
TAKE_ROOM = {
    "sqlite": ["PRAGMA max_page_count = 1"],
    "postgresql": [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$",
        "CREATE TRIGGER full_disk BEFORE INSERT ON runs_score EXECUTE FUNCTION refuse()",
    ],
}
MAKE_ROOM = {
    "sqlite": ["PRAGMA max_page_count = 1000000"],
    "postgresql": ["DROP TRIGGER full_disk ON runs_score", "DROP FUNCTION refuse"],
}
LONG_ANSWER = 1_000_000  # characters: more than the pages that are free


def execute(statements):
    with connection.cursor() as cursor:
        for statement in statements[connection.vendor]:
            cursor.execute(statement)


@pytest.mark.postgresql("vendor errors: each database says in its own way that it is full")
async def test_results_wait_for_room_and_their_run_is_named(run):
    leased = await in_database(lease_of, await in_database(first_chunk, run))
    told: asyncio.Queue[set[int]] = asyncio.Queue()
    recorder = Recorder(HeldChunks(), lambda run_id: 0, lambda: 0, told.put_nowait)
    await in_database(execute, TAKE_ROOM)
    chunk = recorder.open(leased)
    for trial in leased.work.trials:
        recorder.add(chunk, Score(trial, value=1.0, answer="4" * LONG_ANSWER))
    await recorder.close(chunk)
    writing = asyncio.create_task(recorder.run())
    try:
        assert await asyncio.wait_for(told.get(), PATIENCE_SECONDS) == {run.pk}
        assert recorder.is_full
        assert await in_database(stored, run, chunk.chunk_id) == (0, ChunkState.LEASED)
        await in_database(execute, MAKE_ROOM)
        await recorder.write()
        found = await in_database(stored, run, chunk.chunk_id)
        assert found == (len(leased.work.trials), ChunkState.DONE)
    finally:
        writing.cancel()
        await in_database(connections.close_all)


@pytest.mark.postgresql("vendor errors: other trouble")
def test_other_trouble_is_not_taken_for_a_database_without_room():
    with pytest.raises(DatabaseError) as found, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM nothing_of_this_name")
    assert not is_storage_full(found.value)
