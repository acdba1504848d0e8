"""A worker process's own state: one loop, one HTTP pool, one throttle, one recorder."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from django.db import DatabaseError, connection

from runs.live import send_nudges_on
from runs.models import EventLevel, Run
from runs.selectors.limits import Current, read_current
from runs.services.budgets import stop_for_budget
from runs.services.events import note_limit_change
from runs.services.leases import (
    LEASE,
    SWEEP_SECONDS,
    Lease,
    RunParts,
    hand_on_chunk,
    lease_chunk,
    release_chunk,
    set_aside_chunk,
)
from runs.services.pauses import hold_run, settle_pause, settle_pauses
from runs.services.planning import advance_run
from runs.services.recovery import sweep
from runs.services.runs import fail_run
from workers.chunk_rests import ChunkRests, model_of
from workers.database_cache import DatabaseCache, read_cache
from workers.database_thread import in_database
from workers.engine.ending import end_tasks
from workers.engine.errors import ConfigurationError
from workers.engine.executor import Executor
from workers.engine.permits import LimitChange
from workers.engine.records import Score
from workers.engine.streaks import Streak
from workers.failpoints import crash_here
from workers.heartbeat import Heartbeat
from workers.quotas import RunQuotas
from workers.recorder import RETRY_SECONDS, Recorder
from workers.wiring import (
    build_call_parts,
    build_client,
    build_executor,
    build_flights,
    open_redis,
    worker_name,
)

logger = logging.getLogger(__name__)

FOLLOW_SECONDS = 0.5  # how soon a changed limit or a paused endpoint is noticed
LANDING_SECONDS = 0.1  # an answer may be shared with other workers before its trial is scored
SETTLE_SECONDS = (1.5, 6.5)  # after the last call, pages show that none flies, and no throughput
DRAIN_SECONDS = 15.0  # at a stop, calls that are paid for may take this long to end
STORE_SECONDS = 8.0  # and storing them so long, if the database is away; then leases expire
MOST_RUNS = 64  # whose parts are kept; those of others are made again when they are needed
EXECUTOR_SECONDS = 2.0  # how long an executor is reused before endpoints and keys are read again


class Runtime:
    """Made on the worker's loop, before its first message."""

    def __init__(self) -> None:
        self.name = worker_name()
        self._parts = build_call_parts(self.name, self._note_change)
        self._client = build_client()
        self._flights = build_flights(self.name, read_cache)
        throttle = self._parts.throttle
        self._recorder = Recorder(
            lambda run_id: throttle.in_flight(f"run:{run_id}"), throttle.count_held
        )
        self._executors: dict[int, tuple[float, Executor]] = {}
        self._quotas: WeakValueDictionary[int, RunQuotas] = WeakValueDictionary()
        self._streaks: dict[int, Streak] = {}
        self._stopped: set[int] = set()
        self._rests = ChunkRests()
        self._working: dict[asyncio.Task[None], Lease] = {}
        self._closing = asyncio.Event()
        self._messages: set[asyncio.Task[None]] = set()
        self._notes: set[asyncio.Task[None]] = set()
        self._heartbeat = Heartbeat(open_redis(), self.name)
        send_nudges_on(asyncio.get_running_loop())
        self._tasks = [
            asyncio.create_task(self._recorder.run()),
            asyncio.create_task(self._sweep()),
            asyncio.create_task(self._follow()),
            asyncio.create_task(self._heartbeat.run()),
        ]

    async def advance(self, run_id: int) -> None:
        try:
            await in_database(advance_run, run_id)
        except DatabaseError:
            raise  # the sweep sends the message again
        except Exception as error:
            logger.exception("Run %s could not be planned.", run_id)
            await in_database(fail_run, Run(pk=run_id), f"Planning failed: {type(error).__name__}.")

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
        lost = self._recorder.open(lease)
        self._rests.open(lease)
        task = asyncio.create_task(self._run_chunk(lease))
        self._working[task] = lease
        watch = asyncio.create_task(lost.wait())
        try:
            await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks([task, watch])
            self._working.pop(task, None)
            self._rests.close(lease)

    async def _run_chunk(self, lease: Lease) -> None:
        run_id = lease.parts.run_id
        try:
            executor = await self._executor_for(lease)
            await executor.run(lease.work, partial(self._take, lease))
        except Exception as error:
            if has_database_trouble(error):  # not the run's fault: another try
                await self._release([lease], release_chunk)
                return
            logger.exception("Chunk %s of run %s could not be executed.", lease.chunk_id, run_id)
            reason = f"A worker could not execute it: {type(error).__name__}: {error}"
            await in_database(fail_run, Run(pk=run_id), reason)
            self._recorder.abandon(lease)
            return
        await self._recorder.close(lease)

    def _take(self, lease: Lease, score: Score) -> None:
        self._recorder.add(lease, score)
        self._rests.take(lease, score)
        run_id = lease.parts.run_id
        reason = self._streak_of(lease).note(score, model_of(lease, score.trial.candidate))
        quotas = self._quotas.get(run_id)
        if not reason or quotas is None:
            return
        del self._streaks[run_id]
        self._stopped.add(run_id)
        for quota in quotas.stop():  # at once: a refusal may take no more than a millisecond
            self._parts.throttle.change(quota)
        self._in_background(self._hold(run_id, reason))

    def _streak_of(self, lease: Lease) -> Streak:
        streak = self._streaks.get(lease.parts.run_id)
        if streak is None:
            models = {(model.endpoint, model.model) for model in lease.parts.configuration.models}
            streak = self._streaks[lease.parts.run_id] = Streak(len(models))
            if len(self._streaks) > MOST_RUNS:
                self._streaks.pop(next(iter(self._streaks)))
        return streak

    async def _hold(self, run_id: int, reason: str) -> None:
        try:
            await in_database(partial(hold_run, run_id, reason, level=EventLevel.ERROR))
        finally:
            self._stopped.discard(run_id)

    async def _executor_for(self, lease: Lease) -> Executor:
        """An executor with the endpoints as they are now: a new key works from the next chunk."""
        run_id = lease.parts.run_id
        made, executor = self._executors.get(run_id, (0.0, None))
        if executor is not None and time.monotonic() - made < EXECUTOR_SECONDS:
            return executor
        current: Current = await in_database(read_current, run_id, lease.parts.configuration)
        quotas = self._quotas.get(run_id) or RunQuotas(run_id, lease.parts.cases)
        self._quotas[run_id] = quotas
        self._apply(run_id, current, quotas)
        executor = build_executor(
            run_id,
            current.configuration,
            current.endpoints,
            quotas,
            client=self._client,
            parts=self._parts,
            cache=DatabaseCache(run_id, self._recorder),
            flights=self._flights,
        )
        self._executors[run_id] = (time.monotonic(), executor)
        if len(self._executors) > MOST_RUNS:
            self._executors.pop(next(iter(self._executors)))
        return executor

    def _apply(self, run_id: int, current: Current, quotas: RunQuotas) -> None:
        if run_id in self._stopped:
            return  # read before it was stored that it is paused
        for quota in quotas.change(current):
            self._parts.throttle.change(quota)

    async def _follow(self) -> None:
        """What people change holds for the calls of chunks under way, too."""
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            at_work = {lease.parts.run_id: lease.parts for lease in self._working.values()}
            for parts in at_work.values():
                with suppress(DatabaseError, ConfigurationError):  # the next chunk says so
                    await self._follow_run(parts)

    async def _follow_run(self, parts: RunParts) -> None:
        current: Current = await in_database(read_current, parts.run_id, parts.configuration)
        quotas = self._quotas.get(parts.run_id)
        if quotas is not None:
            self._apply(parts.run_id, current, quotas)
        spent = self._parts.throttle.spent(f"run:{parts.run_id}")
        if spent and not current.is_held:
            await self._recorder.write()
            await in_database(stop_for_budget, parts.run_id, spent)
        is_drained = not self._parts.throttle.held_here(f"run:{parts.run_id}")
        if current.drops_calls or (current.is_waiting and is_drained):
            await self._give_back(parts.run_id)
        elif quotas is not None:
            await self._set_aside(parts.run_id, quotas)

    async def _set_aside(self, run_id: int, quotas: RunQuotas) -> None:
        """A model that fails keeps back its own trials, not those of the run's other models: a
        chunk that has nothing else left makes room for the next."""
        keys = quotas.keys()
        broken = {place for place, key in keys.items() if self._parts.throttle.is_broken(key)}
        if not broken or len(broken) == len(keys):
            return
        stuck = {
            task: lease
            for task, lease in self._working.items()
            if lease.parts.run_id == run_id and self._rests.waits_only_for(lease, broken)
        }
        if stuck:
            await self._stop_all(stuck, set_aside_chunk)
            await in_database(advance_run, run_id)

    async def _give_back(self, run_id: int) -> None:
        """A run waits for a person and its calls ended, or shall: let others have its threads.
        Nobody takes its chunks until the run, or the endpoint it waits for, is resumed."""
        await asyncio.sleep(LANDING_SECONDS)
        leases = {t: lease for t, lease in self._working.items() if lease.parts.run_id == run_id}
        await self._stop_all(leases, release_chunk)
        await in_database(settle_pause, run_id)
        for seconds in SETTLE_SECONDS:
            asyncio.get_running_loop().call_later(seconds, self._recorder.touch, run_id)

    async def _stop_all(
        self, leases: dict[asyncio.Task[None], Lease], give_back: Callable[[int, int], None]
    ) -> None:
        await end_tasks(leases)
        await self._release(list(leases.values()), give_back)

    async def _release(self, leases: list[Lease], give_back: Callable[[int, int], None]) -> None:
        """Write what is found and give the rest back; again and again while the database is away,
        or the recorder would keep the leases for ever."""
        while True:
            try:
                await self._recorder.write()
                for lease in leases:
                    await in_database(give_back, lease.chunk_id, lease.token)
                break
            except DatabaseError:
                await asyncio.sleep(RETRY_SECONDS)
        for lease in leases:
            self._recorder.abandon(lease)

    def _note_change(self, change: LimitChange, groups: set[str]) -> None:
        """A limit moved: said on the pages of the runs that feel it."""
        run_ids = [int(group) for group in groups]
        self._in_background(in_database(note_limit_change, run_ids, change))

    def _in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    async def _sweep(self) -> None:
        trouble = -LEASE.total_seconds()
        while True:
            # Who could not renew a lease while the database was away gets the time to do so.
            asked = time.monotonic()
            try:
                await in_database(ask_database)
                answered = time.monotonic()
                trouble = answered if answered - asked > SWEEP_SECONDS else trouble
                is_calm = answered - trouble > LEASE.total_seconds()
                await in_database(partial(sweep, may_reclaim=is_calm))
            except DatabaseError:
                trouble = time.monotonic()
            await asyncio.sleep(SWEEP_SECONDS)

    async def close(self) -> None:
        """Stop leasing, let calls in flight end, write what is finished, give the rest back."""
        self._closing.set()
        await self._parts.throttle.drain(DRAIN_SECONDS)
        await asyncio.sleep(LANDING_SECONDS)
        leases = list(self._working.values())
        await end_tasks(list(self._working))
        if self._messages:
            await asyncio.wait(self._messages, timeout=STORE_SECONDS)
        await end_tasks(self._tasks)
        await self._heartbeat.stop()
        with suppress(TimeoutError, DatabaseError):
            async with asyncio.timeout(STORE_SECONDS):
                await self._release(leases, release_chunk)
                await in_database(settle_pauses)
        await self._flights.close()
        await self._parts.throttle.close()
        await self._client.close()


def has_database_trouble(error: Exception) -> bool:
    """The database is away or full; not something that the same work would meet again."""
    if isinstance(error, ExceptionGroup):
        return error.subgroup(DatabaseError) is not None
    return isinstance(error, DatabaseError)


def ask_database() -> None:
    """The shortest question there is: how long it takes says how the database is."""
    connection.ensure_connection()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
