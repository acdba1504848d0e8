"""Advances a run: asks its strategy for trials, cuts them into chunks, finishes it at the end."""

from collections import OrderedDict
from functools import partial

from django.db import transaction
from django.db.models.functions import Now

from runs.live import publish
from runs.models import Chunk, ChunkState, EventLevel, Run, RunState
from runs.services.events import note
from workers.engine.chunks import chunk_size, split
from workers.engine.kinds import open_session
from workers.engine.records import Trial
from workers.engine.session import Session
from workers.engine.spec import Configuration, read_configuration
from workers.queue import enqueue_chunk

CHUNKS_AHEAD = 64  # chunks of one run that wait or work at once; bounds what a run takes of a queue
WARM_SESSIONS = 8

_warm: OrderedDict[int, Session] = OrderedDict()  # a cache: a cold session is replayed


@transaction.atomic
def advance_run(run_id: int) -> None:
    """Plan what can be planned. Safe to call at any time, by any number of workers."""
    run = Run.objects.select_for_update().filter(pk=run_id, state__in=RunState.live()).first()
    if run is None:
        return
    if run.started is None:
        _start(run)
    configuration = read_configuration(run.document)
    open_chunks = run.chunks.filter(state__in=[ChunkState.PENDING, ChunkState.LEASED]).count()
    session = _session_of(run, configuration)
    size = chunk_size(configuration.limits.max_concurrent)
    trials = session.plan(size * max(0, CHUNKS_AHEAD - open_chunks))
    _store_chunks(run, trials, size)
    if not trials and not open_chunks:
        _finish(run)


def _start(run: Run) -> None:
    run.state, run.reason = RunState.RUNNING, ""
    run.version += 1
    Run.objects.filter(pk=run.pk).update(
        state=run.state, reason="", started=Now(), version=run.version
    )
    run.refresh_from_db(fields=["started"])
    note(run, "Started.")
    transaction.on_commit(partial(publish, run.pk, always=True))


def _session_of(run: Run, configuration: Configuration) -> Session:
    """Where the strategy stands: kept warm in this process, else replayed."""
    session = _warm.pop(run.pk, None)
    if session is None or session.asked != run.asked:
        session = open_session(configuration, run.dataset.rows)
        session.replay(run.asked, [])
    _warm[run.pk] = session
    while len(_warm) > WARM_SESSIONS:
        _warm.popitem(last=False)
    return session


def _store_chunks(run: Run, trials: list[Trial], size: int) -> None:
    if not trials:
        return
    positions = dict(run.candidates.values_list("key", "position"))
    chunks = Chunk.objects.bulk_create(
        Chunk(
            run=run,
            start=part[0].position,
            trials=[[positions[trial.candidate], trial.case, trial.repeat] for trial in part],
        )
        for part in split(trials, size)
    )
    run.asked += len(trials)
    run.save(update_fields=["asked"])
    transaction.on_commit(partial(send_chunks, [chunk.pk for chunk in chunks]))


def send_chunks(chunk_ids: list[int]) -> None:
    """Enqueue chunks, and remember when, so that the sweep can tell a lost message from a queue."""
    Chunk.objects.filter(pk__in=chunk_ids).update(sent=Now())
    for chunk_id in chunk_ids:
        enqueue_chunk(chunk_id)


def _finish(run: Run) -> None:
    run.state = RunState.COMPLETED_WITH_ERRORS if run.failed else RunState.COMPLETED
    run.version += 1
    Run.objects.filter(pk=run.pk).update(
        state=run.state, reason="", ended=Now(), version=run.version
    )
    level = EventLevel.WARNING if run.failed else EventLevel.INFO
    note(run, f"Finished: {run.done:,} trials, {run.failed:,} failed.", level)
    transaction.on_commit(partial(publish, run.pk, always=True))
