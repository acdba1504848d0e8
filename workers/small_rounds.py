"""Executes a chunk, and then the rounds that follow it for as long as they are small.

A strategy that decides after every trial or two would otherwise wait for the queue each time.
"""

import time

from runs.services.leases import Lease
from runs.services.small_rounds import may_grow, plan_round, take_session
from workers.chunk_rests import ChunkRests
from workers.database_thread import in_database
from workers.engine.executor import OnScore
from workers.engine.records import Score, Slice
from workers.engine.session import Session
from workers.run_executors import RunExecutors

TURN_SECONDS = 2.0  # then chunks of other runs that wait for a thread have their turn


class SmallRounds:
    def __init__(self, executors: RunExecutors, rests: ChunkRests) -> None:
        self._executors = executors
        self._rests = rests

    async def run(self, lease: Lease, on_score: OnScore) -> None:
        found = await self._execute(lease, lease.work, on_score)
        if not may_grow(lease):
            return
        session: Session | None = await in_database(take_session, lease, found)
        turn = time.monotonic()
        while session is not None:
            is_over = time.monotonic() - turn > TURN_SECONDS
            turn = time.monotonic() if is_over else turn
            work = await in_database(plan_round, lease, session, found, is_over)
            if work is None:
                break
            lease.growth.trials.extend(work.trials)
            self._rests.grow(lease, work)
            found = await self._execute(lease, work, on_score)
        lease.growth.session = session

    async def _execute(self, lease: Lease, work: Slice, on_score: OnScore) -> list[Score]:
        found: list[Score] = []

        def take(score: Score) -> None:
            found.append(score)
            on_score(score)

        executor = await self._executors.executor_for(lease)
        await executor.run(work, take)
        return found
