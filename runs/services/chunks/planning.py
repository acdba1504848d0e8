"""Advances a run: asks its strategy for trials, cuts them into chunks, finishes it at the end."""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from math import inf

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models.functions import Now

from runs.live import publish
from runs.models import Chunk, ChunkState, EventLevel, Run, RunState
from runs.selectors.case_sources import positions_of
from runs.selectors.limits.limits import configuration_now, read_slots, waiting_reason
from runs.selectors.runs.performance import performance_text
from runs.selectors.runs.stored_history import stored_history
from runs.selectors.runs.trial_roles import role_lines, role_texts
from runs.services.board_figures import keep_figures_soon
from runs.services.chunks.candidates import forget_births, store_births
from runs.services.chunks.leases import SUSPICIOUS_DEATHS
from runs.services.control.rewinding import forget_from
from runs.services.events import note, note_reopened
from runs.services.runs import fail_run
from runs.services.webhooks import announce_end
from workers.engine.chunks import chunk_size, chunks_ahead
from workers.engine.errors import ConfigurationError
from workers.engine.overtime import Overdue
from workers.engine.records import RECORD, Trial
from workers.engine.schedule import Room, plan_chunks
from workers.engine.session import Session
from workers.engine.spec.configuration import Configuration
from workers.engine.statistics.intervals import percentile
from workers.queue import enqueue_advance, enqueue_chunk

logger = logging.getLogger(__name__)

WARM_SESSIONS = 8
TURN_SECONDS = 2.0  # of a replay: leases are renewed, and other runs planned, by the same thread
RECORDS_AT_ONCE = 256  # of a replay: each may be a megabyte
SET_ASIDE_FOR = timedelta(seconds=5)
TAKEN_UP_AT_ONCE = 8

# A cache: a cold session is replayed. With the moment since which the run goes: whoever changes
# what a session was told stops the run for it.
_warm: OrderedDict[int, tuple[datetime | None, Session]] = OrderedDict()


def advance_run(run_id: int) -> None:
    """Plan what can be planned. Safe to call at any time, by any number of workers. A strategy
    that raises fails its own run, never the worker."""
    try:
        _advance(run_id)
    except (DatabaseError, MemoryError):
        raise  # not the run's fault: the sweep, or another worker, tries again
    except (ConfigurationError, Overdue) as error:
        fail_run(Run(pk=run_id), f"It could not be planned: {error}")
    except Exception as error:
        logger.exception("Run %s could not be planned.", run_id)
        fail_run(Run(pk=run_id), f"Planning failed: {type(error).__name__}: {error}")


def advance_soon(run_id: int) -> None:
    """The same after the commit, in this process: a trip through the queue would let the pipe run
    dry. A function, not a partial: Django names it in the log when it raises."""
    transaction.on_commit(lambda: advance_run(run_id), robust=True)


@transaction.atomic
def _advance(run_id: int) -> None:
    run = Run.objects.select_for_update().filter(pk=run_id, state__in=RunState.going()).first()
    if run is None:
        return
    configuration = configuration_now(run)
    if run.started is None:
        _start(run, waiting_reason(configuration))
    take_up_set_aside(run)
    session = agreeing_session_of(run, configuration)
    if session is None:
        transaction.on_commit(partial(enqueue_advance, run.pk))
        return
    open_chunks = run.chunks.filter(state__in=ChunkState.at_work())
    at_work = list(open_chunks.values_list("trials__0__1", flat=True))  # candidate of the first
    if session.learns and (session.asked < run.asked or (at_work and not session.unscored())):
        return  # scores are missing; or a worker is about to end its chunk, or goes on by itself
    latency_ms = _usual_latency_ms(run)
    slots = read_slots(configuration)
    size = chunk_size(slots, (latency_ms or 0) / 1000)
    ahead = chunks_ahead(slots, size, _slot_seconds(run, latency_ms), settings.WORKERS)
    room = Room(max(0, ahead - len(at_work)), size, slots)
    open_keys = {session.candidates[position].key for position in at_work}
    cases = len(positions_of(run))
    chunks = plan_chunks(session, configuration, cases, open_keys, room)
    _store_chunks(run, chunks, store_births(run, configuration, session.candidates))
    is_open = chunks or at_work or run.chunks.filter(state=ChunkState.SET_ASIDE).exists()
    if not is_open and not _reopen_unscored(run):
        _finish(run, configuration, session.best)


def _usual_latency_ms(run: Run) -> float | None:
    """Of the calls made; while every answer is cached, what the original calls took."""
    if run.latency_bins or not run.cached:
        return percentile(run.latency_bins, 0.5)
    cached = run.candidates.filter(cached__gt=0).values_list("latency_bins", flat=True)
    return percentile(cached.first() or {}, 0.5)


def _slot_seconds(run: Run, latency_ms: float | None) -> float | None:
    """For how long a usual trial holds a slot; a cached answer holds none."""
    if not latency_ms or not run.done:
        return None
    return latency_ms / 1000 * (1 - run.cached / run.done)


def take_up_set_aside(run: Run) -> None:
    """Try again, a few at a time, chunks that waited for a model that failed: all of the rest
    follow when these get through."""
    aside = run.chunks.filter(state=ChunkState.SET_ASIDE, sent__lt=Now() - SET_ASIDE_FOR)
    chunk_ids = list(aside.order_by("start").values_list("pk", flat=True)[:TAKEN_UP_AT_ONCE])
    if chunk_ids:
        Chunk.objects.filter(pk__in=chunk_ids).update(state=ChunkState.PENDING)
        transaction.on_commit(partial(send_chunks, chunk_ids))


def _start(run: Run, reason: str) -> None:
    run.state, run.reason = RunState.RUNNING, reason
    run.version += 1
    Run.objects.filter(pk=run.pk).update(
        state=run.state, reason=reason, started=Now(), going_since=Now(), version=run.version
    )
    run.refresh_from_db(fields=["started", "going_since"])
    note(run, "Started.")
    transaction.on_commit(partial(publish, run.pk, always=True))


def session_of(
    run: Run, configuration: Configuration, turn_seconds: float = TURN_SECONDS
) -> Session | None:
    """Where the strategy stands: kept warm in this process, else replayed. None: its replay takes
    longer than a turn, and goes on from there when it is asked for again."""
    since, session = _warm.pop(run.pk, (None, None))
    if session is None or since != run.going_since or not session.may_become(run.asked):
        session = Session(configuration.begin(len(positions_of(run))))
    is_there = catch_up(run, session, time.monotonic() + turn_seconds)
    keep_warm(run.pk, run.going_since, session)
    return session if is_there else None


def catch_up(run: Run, session: Session, end_of_turn: float) -> bool:
    """Tell a session what is stored since; records by and by. False: there is more, but the turn is
    over. What a strategy learns from records may take a second for each round."""
    if not session.learns:
        session.replay(run.asked, [])
        return True
    while True:
        start, end = session.told, run.asked
        if RECORD in session.hears:
            end = min(end, start + RECORDS_AT_ONCE)
        session.replay(end, stored_history(run, start, session.hears, end))
        if end == run.asked or session.told < end:  # else nothing is missing so far
            return True
        if time.monotonic() > end_of_turn:
            return False


def agreeing_session_of(run: Run, configuration: Configuration) -> Session | None:
    """After a retry a strategy may decide differently: what it does not ask for any more goes."""
    session = session_of(run, configuration)
    place = session.first_difference(run.asked) if session else None
    if session is None or not session.learns or place is None:
        return session
    forget_from(run, place)
    take_warm(run.pk)
    session = session_of(run, configuration, turn_seconds=inf)
    assert session is not None  # it had all the time
    forget_births(run, session.candidates)
    return session


def keep_warm(run_id: int, since: datetime | None, session: Session) -> None:
    _warm[run_id] = since, session
    while len(_warm) > WARM_SESSIONS:
        _warm.popitem(last=False)


def take_warm(run_id: int) -> None:
    """Whoever has the session of a run goes on with it alone."""
    _warm.pop(run_id, None)


def _store_chunks(run: Run, chunks: list[tuple[Trial, ...]], candidates: dict[str, int]) -> None:
    if not chunks:
        return
    stored = Chunk.objects.bulk_create(
        Chunk(
            run=run,
            start=chunk[0].position,
            trials=as_rows(chunk, candidates),
        )
        for chunk in chunks
    )
    run.asked += sum(map(len, chunks))
    run.save(update_fields=["asked"])
    transaction.on_commit(partial(send_chunks, [chunk.pk for chunk in stored]))


def as_rows(trials: Iterable[Trial], candidates: Mapping[str, int]) -> list[list[int]]:
    """Trials as a chunk stores them."""
    return [[t.position, candidates[t.candidate], t.case, t.repeat] for t in trials]


def send_chunks(chunk_ids: list[int]) -> None:
    """Enqueue chunks, and remember when, so that the sweep can tell a lost message from a queue."""
    Chunk.objects.filter(pk__in=chunk_ids).update(sent=Now())
    for chunk_id in chunk_ids:
        enqueue_chunk(chunk_id)


def send_pending(run_ids: list[int]) -> None:
    """Send again what waits: its messages came while nobody would take the chunks."""
    pending = Chunk.objects.filter(run_id__in=run_ids, state=ChunkState.PENDING)
    send_chunks(list(pending.order_by("pk").values_list("pk", flat=True)))


def send_next_suspect(run_id: int) -> None:
    """A worker takes one suspect at a time: it has just done one, so it may take the next."""
    waiting = Chunk.objects.filter(
        run_id=run_id, state=ChunkState.PENDING, deaths__gte=SUSPICIOUS_DEATHS
    )
    send_chunks(list(waiting.order_by("start").values_list("pk", flat=True)[:1]))


def _reopen_unscored(run: Run) -> bool:
    """A last look, so that no run ends without some of its trials, whatever went wrong: chunks
    that were ended too early are opened again."""
    if run.done + run.told("done") >= run.asked:
        return False
    scored = set(run.scores.values_list("position", flat=True))
    ended = run.chunks.filter(state=ChunkState.DONE).values_list("pk", "trials")
    early = [pk for pk, trials in ended if any(trial[0] not in scored for trial in trials)]
    if early:
        Chunk.objects.filter(pk__in=early).update(state=ChunkState.PENDING)
        note_reopened(run, len(early))
        transaction.on_commit(partial(send_chunks, early))
    return bool(early)


def _finish(run: Run, configuration: Configuration, chosen: int | None) -> None:
    failed = run.failed + run.told("failed")
    run.state = RunState.COMPLETED_WITH_ERRORS if failed else RunState.COMPLETED
    run.version += 1
    Run.objects.filter(pk=run.pk).update(
        state=run.state,
        reason="",
        ended=Now(),
        version=run.version,
        planned=run.asked - run.told("done"),  # evaluations only, as all that counts them
        chosen=chosen,
    )
    level = EventLevel.WARNING if failed else EventLevel.INFO
    _, *others = role_texts(role_lines(run), run.unpriced) or [""]
    told = "; ".join([f"Finished: {run.done:,} trials, {run.failed:,} failed", *others])
    note(run, f"{told}.", level)
    if configuration.limits.performance_summary:
        note(run, performance_text(run, configuration))
    announce_end(run)
    transaction.on_commit(partial(publish, run.pk, always=True))
    keep_figures_soon(run.pk)
