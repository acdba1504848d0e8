"""Follows what people and providers change while chunks are under way: limits, pauses, outages."""

import asyncio
from contextlib import suppress

from django.db import DatabaseError

from runs.selectors.limits.limits import Current, read_current
from runs.services.chunks.leases import RunParts, release_chunk, set_aside_chunk
from runs.services.chunks.planning import advance_run
from runs.services.control.budgets import stop_for_budget
from runs.services.control.pauses import settle_pause
from workers.database_thread import in_database
from workers.engine.ending_tasks import end_tasks
from workers.engine.errors import ConfigurationError
from workers.engine.throttling.throttle import Throttle
from workers.held_chunks import HeldChunk, HeldChunks
from workers.recorder import GiveBack, Recorder
from workers.run_executors import RunExecutors

FOLLOW_SECONDS = 0.5  # how soon a changed limit or a paused endpoint is noticed
LANDING_SECONDS = 0.1  # an answer may be shared with other workers before its trial is scored
SETTLE_SECONDS = (1.5, 6.5)  # after the last call, pages show that none flies, and no throughput


class Follower:
    def __init__(
        self,
        chunks: HeldChunks,
        executors: RunExecutors,
        throttle: Throttle,
        recorder: Recorder,
    ) -> None:
        self._chunks = chunks
        self._executors = executors
        self._throttle = throttle
        self._recorder = recorder

    async def run(self) -> None:
        """Look for as long as the process lives."""
        while True:
            await asyncio.sleep(FOLLOW_SECONDS)
            for parts in self._chunks.runs():
                with suppress(DatabaseError, ConfigurationError):  # the next chunk says so
                    await self._follow(parts)

    async def _follow(self, parts: RunParts) -> None:
        run_id, key = parts.run_id, f"run:{parts.run_id}"
        current: Current = await in_database(read_current, run_id, parts.configuration)
        self._executors.apply(run_id, current)
        spent = self._throttle.spent(key)
        if spent and not current.is_held:
            await self._recorder.write()
            await in_database(stop_for_budget, run_id, spent)
        is_drained = not self._throttle.held_here(key)
        if current.drops_calls or (current.is_waiting and is_drained):
            await asyncio.sleep(LANDING_SECONDS)
            if self._throttle.held_here(key) and not current.drops_calls:
                return  # it was resumed meanwhile: these calls would be made twice
            await self._give_back(run_id)
        else:
            await self._set_aside(run_id)

    async def _set_aside(self, run_id: int) -> None:
        """A model that fails keeps back its own trials, not those of the run's other models: a
        chunk that has nothing else left makes room for the next."""
        quotas = self._executors.quotas_of(run_id)
        keys = quotas.keys() if quotas is not None else {}
        broken = {place for place, key in keys.items() if self._throttle.is_broken(key)}
        if not broken or len(broken) == len(keys):
            return
        stuck = [one for one in self._chunks.working(run_id) if one.waits_only_for(broken)]
        if stuck:
            await self._stop(stuck, set_aside_chunk)
            await in_database(advance_run, run_id)

    async def _stop(self, chunks: list[HeldChunk], by: GiveBack) -> None:
        await end_tasks([chunk.task for chunk in chunks if chunk.task])
        await self._recorder.give_back(chunks, by)

    async def _give_back(self, run_id: int) -> None:
        """A run waits for a person and its calls ended, or shall: let others have its threads.
        Nobody takes its chunks until the run, or the endpoint it waits for, is resumed."""
        await self._stop(self._chunks.working(run_id), release_chunk)
        await in_database(settle_pause, run_id)
        for seconds in SETTLE_SECONDS:
            asyncio.get_running_loop().call_later(seconds, self._recorder.touch, run_id)
