"""Collects what the chunks of this process found and writes it a few times a second."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Collection

from django.db import DatabaseError

from runs.services.chunks.kept_answers import keep_unjudged
from runs.services.chunks.leases import RENEW_SECONDS, Lease, renew_leases
from runs.services.chunks.recording import Results, record_results, store_replies
from workers.database_thread import in_database
from workers.engine.records import Reply, Request, Score
from workers.failpoints import crash_here
from workers.held_chunks import HeldChunk, HeldChunks
from workers.storage import is_storage_full

logger = logging.getLogger(__name__)

GiveBack = Callable[[int, int], None]
"""Takes the chunk and its token."""

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
        chunks: HeldChunks,
        in_flight: Callable[[int], int],
        flying: Callable[[], int],
        on_full: Callable[[set[int]], None] = lambda run_ids: None,
    ) -> None:
        self._chunks = chunks
        self._in_flight = in_flight  # of a run, over all workers
        self._flying = flying  # here, of all runs
        self._on_full = on_full  # told whose results found no room in the database
        self.is_full = False
        self._waiting: dict[int, Results] = {}
        self._replies: dict[int, list[tuple[str, Request, Reply]]] = {}
        self._kept = 0  # answers not yet stored
        self.unstored: set[str] = set()  # and under which keys
        self._wake = asyncio.Event()
        self._count = 0
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._is_urgent = False
        self._decisive: set[int] = set()  # runs that go on only when what they found is written
        self._pause_seconds = WRITE_SECONDS
        self._sampled = self._wrote = self._stored = 0.0
        self._renewed = time.monotonic()

    def open(self, lease: Lease) -> HeldChunk:
        chunk = HeldChunk.of(lease)
        if earlier := self._chunks.put(chunk):  # lost, and we hear of it only now
            earlier.lost.set()
            self._drop_results(earlier)
        return chunk

    def add(self, chunk: HeldChunk, score: Score) -> None:
        crash_here("after_answer", score.answer)
        if not self._chunks.holds(chunk):
            return
        results = self._waiting.setdefault(chunk.run_id, Results())
        results.scores[chunk.chunk_id].append(score)
        self._count += 1
        if self._count > MOST_WAITING:
            self._has_room.clear()

    def touch(self, run_id: int) -> None:
        """Write a run the next time also without news: its page shows that nothing flies."""
        self._waiting.setdefault(run_id, Results())

    def keep(self, run_id: int, key: str, request: Request, reply: Reply) -> None:
        self._replies.setdefault(run_id, []).append((key, request, reply))
        self.unstored.add(key)
        self._kept += 1
        if time.monotonic() - self._stored >= KEEP_SECONDS and self._kept >= self._flying():
            # Or a crash would cost more answers than are in flight.
            asyncio.get_running_loop().call_later(ASIDE_SECONDS, self._wake.set)

    async def close(self, chunk: HeldChunk) -> None:
        """End with a chunk. It is written soon, under its lease; the next one need not wait for
        that, unless the database has fallen behind."""
        if not self._chunks.holds(chunk):
            return
        results = self._waiting.setdefault(chunk.run_id, Results())
        results.finished.add(chunk.chunk_id)
        if self._is_all_finished():
            self._is_urgent = True  # nothing more will come: the run's end need not wait
            self._wake.set()
        elif chunk.lease.parts.configuration.decides and self._is_finished(chunk.run_id):
            self._decisive.add(chunk.run_id)
            self._wake.set()
        await self._has_room.wait()

    async def give_back(self, chunks: Collection[HeldChunk], by: GiveBack) -> None:
        """Write what is found and give the rest back; again and again while the database is away,
        or their leases would be kept for ever."""
        while True:
            try:
                await self.write()
                for chunk in chunks:
                    place = chunk.chunk_id, chunk.lease.token
                    if unjudged := chunk.lease.work.unjudged:
                        await in_database(keep_unjudged, *place, unjudged)
                    await in_database(by, *place)
                break
            except DatabaseError:
                await asyncio.sleep(RETRY_SECONDS)
        for chunk in chunks:
            self.forget(chunk)

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
        return finished == len(self._chunks)

    def _is_finished(self, run_id: int) -> bool:
        """Nothing more will come of a run, while others go on."""
        open_here = {one.chunk_id for one in self._chunks.held() if one.run_id == run_id}
        return open_here <= self._waiting[run_id].finished

    async def write(self) -> None:
        self._is_urgent, self._wrote = False, time.monotonic()
        self._pause_seconds = MANY_SECONDS if self._count >= MANY else WRITE_SECONDS
        await self._write_replies()
        for run_id in self._runs_due():
            await self._write_run(run_id)
        now = time.monotonic()
        if self._chunks and now - self._renewed >= RENEW_SECONDS:
            self._renewed = now
            tokens = {one.chunk_id: one.lease.token for one in self._chunks.held()}
            await in_database(renew_leases, tokens)

    def _runs_due(self) -> list[int]:
        now = time.monotonic()
        if now - self._sampled < SAMPLE_SECONDS:
            return list(self._waiting)
        self._sampled = now
        return list(self._run_ids())

    def _run_ids(self) -> set[int]:
        return {*self._waiting, *(one.run_id for one in self._chunks.held())}

    async def _write_replies(self) -> None:
        self._kept, self._stored = 0, time.monotonic()
        for run_id in list(self._replies):
            replies = self._replies.pop(run_id)
            try:
                await in_database(store_replies, run_id, replies)
            except DatabaseError:
                self._replies[run_id] = replies + self._replies.get(run_id, [])
                raise
            self.unstored.difference_update([key for key, _, _ in replies])

    async def _write_run(self, run_id: int) -> None:
        self._decisive.discard(run_id)
        results = self._waiting.pop(run_id, Results())
        chunks = {one.chunk_id: one for one in self._chunks.held() if one.run_id == run_id}
        results.leases = {pk: chunk.lease for pk, chunk in chunks.items()}
        results.in_flight = self._in_flight(run_id)
        try:
            lost = await in_database(record_results, run_id, results)
        except DatabaseError:
            self._put_back(run_id, results, chunks)
            raise
        crash_here("after_write")
        self._written(sum(map(len, results.scores.values())))
        for chunk_id in results.finished | lost:
            chunk = chunks.get(chunk_id)
            if chunk is not None and self._chunks.holds(chunk):  # or it was given back meanwhile
                if chunk_id in lost:
                    chunk.lost.set()
                self.forget(chunk)

    def _written(self, scores: int) -> None:
        self._count -= scores
        if self._count <= MOST_WAITING:
            self._has_room.set()

    def _put_back(self, run_id: int, results: Results, chunks: dict[int, HeldChunk]) -> None:
        later = self._waiting.setdefault(run_id, Results())
        held = {pk for pk, chunk in chunks.items() if self._chunks.holds(chunk)}
        for chunk_id, scores in results.scores.items():
            if chunk_id in held:
                later.scores[chunk_id] = scores + later.scores[chunk_id]
            else:
                self._written(len(scores))
        later.finished |= results.finished & held

    def forget(self, chunk: HeldChunk) -> None:
        """A chunk whose lease is lost or given back, with what came for it since the last write."""
        if self._chunks.holds(chunk):
            self._chunks.drop(chunk)
            self._drop_results(chunk)

    def _drop_results(self, chunk: HeldChunk) -> None:
        if later := self._waiting.get(chunk.run_id):
            self._written(len(later.scores.pop(chunk.chunk_id, ())))
            later.finished.discard(chunk.chunk_id)
