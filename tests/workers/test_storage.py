"""A database without room: told from other trouble, and the runs that it hurts are paused."""

import asyncio
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, connections

from runs.models import Chunk, ChunkState, Run
from runs.services.chunks.leases import Lease, lease_chunk
from runs.services.chunks.planning import advance_run
from runs.services.runs import create_run
from tests.harness.patience import PATIENCE_SECONDS
from workers.database_thread import in_database
from workers.engine.records import Score
from workers.held_chunks import HeldChunks
from workers.recorder import Recorder
from workers.storage import is_storage_full

pytestmark = pytest.mark.django_db(transaction=True)

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


def execute(statements: dict[str, list[str]]) -> None:
    with connection.cursor() as cursor:
        for statement in statements[connection.vendor]:
            cursor.execute(statement)


def lease_one(ada: User, document: dict[str, Any]) -> tuple[Run, Lease]:
    run = create_run(ada, document)
    advance_run(run.pk)
    lease = lease_chunk(run.chunks.all()[0].pk, "worker")
    assert lease is not None
    return run, lease


def stored(run: Run) -> tuple[int, int]:
    done = Chunk.objects.filter(run=run, state=ChunkState.DONE)
    return run.scores.count(), done.count()


async def test_results_wait_for_room_and_their_run_is_named(ada: User, document: dict[str, Any]):
    run, lease = await in_database(lease_one, ada, document)
    told: asyncio.Queue[set[int]] = asyncio.Queue()
    recorder = Recorder(HeldChunks(), lambda run_id: 0, lambda: 0, told.put_nowait)
    await in_database(execute, TAKE_ROOM)
    chunk = recorder.open(lease)
    for trial in lease.work.trials:
        recorder.add(chunk, Score(trial, value=1.0, answer="4" * LONG_ANSWER))
    await recorder.close(chunk)
    writing = asyncio.create_task(recorder.run())
    try:
        assert await asyncio.wait_for(told.get(), PATIENCE_SECONDS) == {run.pk}
        assert recorder.is_full
        assert await in_database(stored, run) == (0, 0)
        await in_database(execute, MAKE_ROOM)
        await recorder.write()
        assert await in_database(stored, run) == (len(lease.work.trials), 1)
    finally:
        writing.cancel()
        await in_database(connections.close_all)


def test_other_trouble_is_not_taken_for_it():
    with pytest.raises(DatabaseError) as found, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM nothing_of_this_name")
    assert not is_storage_full(found.value)
