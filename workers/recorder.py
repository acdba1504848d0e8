"""Collects what the chunks of this process found and writes it a few times a second."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

from django.db import DatabaseError

from runs.services.chunks.leases import RENEW_SECONDS, Lease, renew_leases
from runs.services.chunks.recording import Results, record_results, store_replies
from workers.database_thread import in_database
from workers.engine.records import Reply, Request, Score
from workers.failpoints import crash_here
from workers.storage import is_storage_full

logger = logging.getLogger(__name__)

WRITE_SECONDS = 0.5  # a write costs nearly the same for one score as for a hundred,
MANY_SECONDS, MANY = 1.0, 100  # so that a worker with many writes them less often
KEEP_SECONDS = 0.1  # paid answers are stored sooner, when as many wait as calls fly
ASIDE_SECONDS = 0.01  # and not before what the answer leads to, which needs the database too
SAMPLE_SECONDS = 1.0  # a run without news is still sampled this often: its calls are in flight
RETRY_SECONDS = 1.0  # when the database does not take a write
MOST_WAITING = 2000  # scores not yet written; above it, finished chunks wait and none is begun


class Recorder:
    """Buffers scores and paid answers per run. Nothing is dropped when a write fails: it is
    written again, and the database keeps each trial's score once."""

    def __init__(
        self,
        in_flight: Callable[[int], int],
        flying: Callable[[], int],
        on_full: Callable[[set[int]], None] = lambda run_ids: None,
    ) -> None:
        self._in_flight = in_flight  # of a run, over all workers
        self._flying = flying  # here, of all runs
        self._on_full = on_full  # told whose results found no room in the database
        self.is_full = False
        self._leases: dict[int, Lease] = {}
        self._waiting: dict[int, Results] = {}
        self._replies: dict[int, list[tuple[str, Request, Reply]]] = {}
        self._kept = 0  # answers not yet stored
        self._lost: dict[int, asyncio.Event] = {}
        self._wake = asyncio.Event()
        self._count = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_urgent = False
        self._decisive: set[int] = set()  # runs that go on only when what they found is written
        self._pause_seconds = WRITE_SECONDS
        self._sampled = self._wrote = self._stored = 0.0
        self._renewed = time.monotonic()

    def open(self, lease: Lease) -> asyncio.Event:
        """Begin with a chunk. The event is set when its lease is lost: then stop working on it."""
        if earlier := self._leases.get(lease.chunk_id):  # lost, and we hear of it only now
            self._lost[lease.chunk_id].set()
            self._forget(earlier)
        self._leases[lease.chunk_id] = lease
        lost = self._lost[lease.chunk_id] = asyncio.Event()
        return lost

    def add(self, lease: Lease, score: Score) -> None:
        crash_here("after_answer", score.answer)
        if not self._holds(lease):
            return
        results = self._waiting.setdefault(lease.parts.run_id, Results())
        results.scores[lease.chunk_id].append(score)
        self._count += 1
        if self._count > MOST_WAITING:
            self._has_room.clear()

    def touch(self, run_id: int) -> None:
        """Write a run the next time also without news: its page shows that nothing flies."""
        self._waiting.setdefault(run_id, Results())

    def keep(self, run_id: int, key: str, request: Request, reply: Reply) -> None:
        self._replies.setdefault(run_id, []).append((key, request, reply))
        self._kept += 1
        if time.monotonic() - self._stored >= KEEP_SECONDS and self._kept >= self._flying():
            # Or a crash would cost more answers than are in flight.
            asyncio.get_running_loop().call_later(ASIDE_SECONDS, self._wake.set)

    async def close(self, lease: Lease) -> None:
        """End with a chunk. It is written soon, under its lease; the next one need not wait for
        that, unless the database has fallen behind."""
        if not self._holds(lease):
            return
        results = self._waiting.setdefault(lease.parts.run_id, Results())
        results.finished.add(lease.chunk_id)
        if self._is_all_finished():
            self._is_urgent = True  # nothing more will come: the run's end need not wait
            self._wake.set()
        elif lease.parts.configuration.learns and self._is_finished(lease.parts.run_id):
            self._decisive.add(lease.parts.run_id)
            self._wake.set()
        await self._has_room.wait()

    def abandon(self, lease: Lease) -> None:
        """Forget a chunk whose lease is lost or given back."""
        self._forget(lease)

    def _holds(self, lease: Lease) -> bool:
        """What comes late for a lease that is lost must not count for the next one of its chunk,
        which this process may hold as well: the chunk would seem to be finished."""
        return self._leases.get(lease.chunk_id) is lease

    async def run(self) -> None:
        """Write for as long as the process lives."""
        while True:
            await self._pause()
            try:
                await self._write_due()
                self.is_full = False
            except DatabaseError as error:
                logger.exception("The database did not take the results; trying again.")
                if is_storage_full(error):
                    self.is_full = True
                    self._on_full(self._run_ids())
                await asyncio.sleep(RETRY_SECONDS)

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._wrote + self._pause_seconds - time.monotonic()):
                await self._wake.wait()
        self._wake.clear()

    async def _write_due(self) -> None:
        if self._is_urgent or time.monotonic() - self._wrote >= self._pause_seconds:
            await self.write()
            return
        await self._write_replies()
        while self._decisive:
            await self._write_run(self._decisive.pop())

    def _is_all_finished(self) -> bool:
        finished = sum(len(results.finished) for results in self._waiting.values())
        return finished == len(self._leases)

    def _is_finished(self, run_id: int) -> bool:
        """Nothing more will come of a run, while others go on."""
        open_here = {pk for pk, one in self._leases.items() if one.parts.run_id == run_id}
        return open_here <= self._waiting[run_id].finished

    async def write(self) -> None:
        self._is_urgent, self._wrote = False, time.monotonic()
        self._pause_seconds = MANY_SECONDS if self._count >= MANY else WRITE_SECONDS
        await self._write_replies()
        for run_id in self._runs_due():
            await self._write_run(run_id)
        now = time.monotonic()
        if self._leases and now - self._renewed >= RENEW_SECONDS:
            self._renewed = now
            tokens = {lease.chunk_id: lease.token for lease in self._leases.values()}
            await in_database(renew_leases, tokens)

    def _runs_due(self) -> list[int]:
        now = time.monotonic()
        if now - self._sampled < SAMPLE_SECONDS:
            return list(self._waiting)
        self._sampled = now
        return list(self._run_ids())

    def _run_ids(self) -> set[int]:
        return {*self._waiting, *(lease.parts.run_id for lease in self._leases.values())}

    async def _write_replies(self) -> None:
        self._kept, self._stored = 0, time.monotonic()
        for run_id in list(self._replies):
            replies = self._replies.pop(run_id)
            try:
                await in_database(store_replies, run_id, replies)
            except DatabaseError:
                self._replies[run_id] = replies + self._replies.get(run_id, [])
                raise

    async def _write_run(self, run_id: int) -> None:
        self._decisive.discard(run_id)
        results = self._waiting.pop(run_id, Results())
        results.leases = {
            pk: lease for pk, lease in self._leases.items() if lease.parts.run_id == run_id
        }
        results.in_flight = self._in_flight(run_id)
        try:
            lost = await in_database(record_results, run_id, results)
        except DatabaseError:
            self._put_back(run_id, results)
            raise
        crash_here("after_write")
        self._written(sum(map(len, results.scores.values())))
        for chunk_id in results.finished | lost:
            lease = results.leases.get(chunk_id)
            if lease is not None and self._holds(lease):  # or it was abandoned meanwhile
                if chunk_id in lost:
                    self._lost[chunk_id].set()
                self._forget(lease)

    def _written(self, scores: int) -> None:
        self._count -= scores
        if self._count <= MOST_WAITING:
            self._has_room.set()

    def _put_back(self, run_id: int, results: Results) -> None:
        later = self._waiting.setdefault(run_id, Results())
        held = {pk for pk, lease in results.leases.items() if self._holds(lease)}
        for chunk_id, scores in results.scores.items():
            if chunk_id in held:
                later.scores[chunk_id] = scores + later.scores[chunk_id]
            else:
                self._written(len(scores))
        later.finished |= results.finished & held

    def _forget(self, lease: Lease) -> None:
        """With what came for it since the last write."""
        if not self._holds(lease):
            return
        del self._leases[lease.chunk_id], self._lost[lease.chunk_id]
        if later := self._waiting.get(lease.parts.run_id):
            self._written(len(later.scores.pop(lease.chunk_id, ())))
            later.finished.discard(lease.chunk_id)
