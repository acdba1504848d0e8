"""A worker process's own state: one loop, one HTTP pool, one throttle, one recorder."""

import asyncio
import faulthandler
import logging
import os
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from django.db import DatabaseError, connection, transaction

from runs.live import send_nudges_on
from runs.models import EventLevel, Run
from runs.services.chunks.leases import (
    LEASE,
    SWEEP_SECONDS,
    Lease,
    hand_on_chunk,
    lease_chunk,
    release_chunk,
)
from runs.services.chunks.planning import advance_run
from runs.services.chunks.recovery import sweep
from runs.services.control.pauses import hold_run, settle_pauses
from runs.services.events import note_limit_change, note_queueing
from runs.services.runs import fail_run
from workers.database_cache import read_cache
from workers.database_thread import in_database
from workers.engine.batch_sizes import Queueing
from workers.engine.ending_tasks import end_tasks
from workers.engine.errors import CallError
from workers.engine.overtime import OVERTIME
from workers.engine.records import Score
from workers.engine.streaks import Streak, hopeless_text
from workers.engine.throttling.permits import LimitChange
from workers.failpoints import crash_here
from workers.following import LANDING_SECONDS, Follower
from workers.growing_chunks import SmallRounds
from workers.heartbeat import Heartbeat
from workers.held_chunks import HeldChunk, HeldChunks, count_called, models_of
from workers.messenger import Messenger
from workers.recorder import RETRY_SECONDS, Recorder
from workers.run_executors import MOST_RUNS, RunExecutors
from workers.storage import STORAGE_FULL
from workers.timekeeper import Timekeeper
from workers.wiring import (
    Clients,
    build_call_parts,
    build_flights,
    open_redis,
    worker_name,
)

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 15.0  # at a stop, calls that are paid for may take this long to end
EXIT_BROKEN = 70  # as sysexits.h names an internal error
LATE_LEASES = 2  # after so many, a sweep that is always late no longer waits for others' renewals
SWITCH_SECONDS = 0.001  # the loop waits so long for the database's thread; Python's 5 ms add up
STORE_SECONDS = 8.0  # and storing them so long, if the database is away; then leases expire


class Runtime:
    """Made on the worker's loop, before its first message."""

    def __init__(self) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        self.name = worker_name()
        self._parts = build_call_parts(
            self.name, self._note_change, self._stop_refused, self._note_queueing
        )
        self._clients = Clients()
        self._flights = build_flights(self.name, read_cache, lambda: self._recorder.unstored)
        throttle = self._parts.throttle
        self._chunks = HeldChunks()
        self._recorder = Recorder(
            self._chunks,
            lambda run_id: throttle.in_flight(f"run:{run_id}"),
            throttle.count_held,
            self._stop_for_room,
        )
        self._executors = RunExecutors(self._parts, self._clients, self._flights, self._recorder)
        self._small_rounds = SmallRounds(self._executors)
        self._streaks: dict[int, Streak] = {}
        self._closing = asyncio.Event()
        self._messages: set[asyncio.Task[None]] = set()
        self._notes: set[asyncio.Task[None]] = set()
        self._heartbeat = Heartbeat(open_redis(), self.name, lambda: self._recorder.is_full)
        follower = Follower(self._chunks, self._executors, throttle, self._recorder)
        OVERTIME.on_stuck = die_of
        send_nudges_on(asyncio.get_running_loop())
        self._tasks = [
            asyncio.create_task(self._recorder.run()),
            asyncio.create_task(self._sweep()),
            asyncio.create_task(follower.run()),
            asyncio.create_task(self._heartbeat.run()),
            asyncio.create_task(Messenger().run()),
            asyncio.create_task(Timekeeper().run()),
        ]
        for task in self._tasks:
            task.add_done_callback(die_with)

    async def advance(self, run_id: int) -> None:
        try:
            await in_database(advance_run, run_id)
        except MemoryError as error:
            die(error)

    async def execute(self, chunk_id: int) -> None:
        """Lease a chunk, run it, write what came of it."""
        message = asyncio.create_task(self._execute(chunk_id))
        self._messages.add(message)
        message.add_done_callback(self._messages.discard)
        await message

    async def _execute(self, chunk_id: int) -> None:
        if self._closing.is_set():
            await in_database(hand_on_chunk, chunk_id)
            return
        lease: Lease | None = await in_database(lease_chunk, chunk_id, self.name)
        if lease is None:
            return
        crash_here("after_lease")
        if self._closing.is_set():  # it began while we leased
            await in_database(release_chunk, lease.chunk_id, lease.token)
            return
        chunk = self._recorder.open(lease)
        task = asyncio.create_task(self._run_chunk(chunk))
        self._chunks.begin(chunk, task)
        watch = asyncio.create_task(chunk.lost.wait())
        try:
            await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks([task, watch])
            self._chunks.end(chunk)

    async def _run_chunk(self, chunk: HeldChunk) -> None:
        run_id = chunk.run_id
        try:
            await self._small_rounds.run(chunk, partial(self._take, chunk))
        except Exception as error:
            if is_caused_by(error, MemoryError):
                die(error)
            if is_caused_by(error, DatabaseError):  # not the run's fault: another try
                await self._recorder.give_back([chunk], release_chunk)
                return
            logger.exception("Chunk %s of run %s could not be executed.", chunk.chunk_id, run_id)
            first = first_of(error)
            reason = f"A worker could not execute it: {type(first).__name__}: {first}"
            await in_database(fail_run, Run(pk=run_id), reason)
            self._recorder.forget(chunk)
            return
        await self._recorder.close(chunk)

    def _take(self, chunk: HeldChunk, score: Score) -> None:
        self._recorder.add(chunk, score)
        chunk.take(score)
        run_id = chunk.run_id
        models = models_of(chunk.lease, score.trial.candidate) if score.error else frozenset()
        reason = self._streak_of(chunk.lease).note(score, models)
        if reason:
            self._stop(run_id, reason)

    def _stop_refused(self, key: str, count: int, error: CallError) -> None:
        """All processes together were refused too often in a row."""
        run_id = int(key.removeprefix("run:"))
        self._stop(run_id, hopeless_text(count, "calls", error.name, str(error)))

    def _stop(self, run_id: int, reason: str) -> None:
        """At once: a refusal may take no more than a millisecond."""
        if self._executors.stop(run_id):
            self._streaks.pop(run_id, None)
            self._in_background(self._hold(run_id, reason))

    def _stop_for_room(self, run_ids: set[int]) -> None:
        for run_id in run_ids:
            if self._executors.stop(run_id):
                self._in_background(self._hold(run_id, STORAGE_FULL))

    def _streak_of(self, lease: Lease) -> Streak:
        streak = self._streaks.get(lease.parts.run_id)
        if streak is None:
            streak = self._streaks[lease.parts.run_id] = Streak(count_called(lease))
            if len(self._streaks) > MOST_RUNS:
                self._streaks.pop(next(iter(self._streaks)))
        return streak

    async def _hold(self, run_id: int, reason: str) -> None:
        """Store that it is paused, as soon as the database takes it."""
        try:
            while True:
                try:
                    await in_database(partial(hold_run, run_id, reason, level=EventLevel.ERROR))
                    return
                except DatabaseError:
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._executors.let_go_on(run_id)

    def _note_change(self, change: LimitChange, groups: set[str]) -> None:
        """A limit moved: said on the pages of the runs that feel it."""
        run_ids = [int(group) for group in groups]
        self._in_background(in_database(note_limit_change, run_ids, change))

    def _note_queueing(self, key: str, found: Queueing, groups: set[str]) -> None:
        """More calls at once bring nothing: said on the pages of the runs that make them."""
        run_ids = [int(group) for group in groups]
        self._in_background(in_database(note_queueing, run_ids, key, found))

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _sweep(self) -> None:
        """Who could not renew a lease while the database was away, or this machine stood still,
        gets the time to do so. A machine that is late all the time is slow, and sweeps."""
        lease = LEASE.total_seconds()
        trouble, due, late_since = -lease, time.monotonic(), None
        while True:
            try:
                await in_database(ask_database)
                answered = time.monotonic()
                is_late = answered - due > SWEEP_SECONDS
                late_since = (late_since or answered) if is_late else None
                if late_since is not None and answered - late_since <= LATE_LEASES * lease:
                    trouble = answered
                is_calm = answered - trouble > lease
                await in_database(partial(sweep, may_reclaim=is_calm))
            except DatabaseError:
                trouble, late_since = time.monotonic(), None
            due = time.monotonic() + SWEEP_SECONDS
            await asyncio.sleep(SWEEP_SECONDS)

    async def close(self) -> None:
        """Stop leasing, let calls in flight end, write what is finished, give the rest back."""
        self._closing.set()
        await self._parts.throttle.drain(DRAIN_SECONDS)
        await asyncio.sleep(LANDING_SECONDS)
        left = self._chunks.working()
        await end_tasks([chunk.task for chunk in left if chunk.task])
        if self._messages:
            await asyncio.wait(self._messages, timeout=STORE_SECONDS)
        await end_tasks(self._tasks)
        await self._heartbeat.stop()
        with suppress(TimeoutError, DatabaseError):
            async with asyncio.timeout(STORE_SECONDS):
                await self._recorder.give_back(left, release_chunk)
                await in_database(settle_pauses)
        await self._flights.close()
        await self._parts.close()
        await self._clients.close()


def is_caused_by(error: Exception, kind: type[Exception]) -> bool:
    """Also when other calls of the chunk failed beside it."""
    if isinstance(error, ExceptionGroup):
        return error.subgroup(kind) is not None
    return isinstance(error, kind)


def first_of(error: Exception) -> Exception:
    """Of those that a chunk's trials raised at the same time."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def die_with(task: asyncio.Task[None]) -> None:
    """Without its recorder or its sweep a worker would take chunks and never finish them."""
    if not task.cancelled() and (error := task.exception()) is not None:
        die(error)


def die(error: BaseException) -> NoReturn:
    """As by a crash: others take over what it holds, and whoever supervises it starts it again."""
    logger.critical("This worker cannot go on and ends.", exc_info=error)
    os._exit(EXIT_BROKEN)


def die_of(what: str) -> None:
    """Code of a plug-in that no exception reaches: where it is stands in the log."""
    faulthandler.dump_traceback()
    die(RuntimeError(f"{what} cannot be interrupted."))


def ask_database() -> None:
    """How long it takes says how the database is. In a transaction, which waits for the one writer
    that SQLite has: whoever else waits for it cannot renew a lease."""
    connection.ensure_connection()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
