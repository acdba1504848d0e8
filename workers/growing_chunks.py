"""Executes a chunk, and then the rounds that follow it for as long as they are small.

A strategy that decides after every trial or two would otherwise wait for the queue each time.
"""

import time
from collections.abc import Mapping

from runs.services.chunks.grown_chunks import may_grow, plan_round, take_session
from workers.database_thread import in_database
from workers.engine.executor import Executor, OnScore
from workers.engine.records import Reply, Score, Slice
from workers.engine.session import Session
from workers.held_chunks import HeldChunk
from workers.run_executors import RunExecutors

TURN_SECONDS = 2.0  # then chunks of other runs that wait for a thread have their turn


class SmallRounds:
    def __init__(self, executors: RunExecutors) -> None:
        self._executors = executors

    async def run(self, chunk: HeldChunk, on_score: OnScore) -> None:
        lease = chunk.lease
        executor = await self._executors.executor_for(lease)
        found = await execute(executor, lease.work, on_score)
        if not may_grow(lease):
            return
        session: Session | None = await in_database(take_session, lease, found)
        turn = time.monotonic()
        while session is not None:
            is_over = time.monotonic() - turn > TURN_SECONDS
            turn = time.monotonic() if is_over else turn
            executor = await self._executors.executor_for(lease)
            planned = await in_database(plan_round, lease, session, found, executor.keys, is_over)
            if planned is None:
                break
            work, hits = planned
            lease.growth.trials.extend(work.trials)
            chunk.grow(work)
            found = await execute(executor, work, on_score, hits)
        lease.growth.session = session


async def execute(
    executor: Executor, work: Slice, on_score: OnScore, hits: Mapping[str, Reply] | None = None
) -> list[Score]:
    found: list[Score] = []

    def take(score: Score) -> None:
        found.append(score)
        on_score(score)

    await executor.run(work, take, hits)
    return found
