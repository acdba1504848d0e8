"""Runs a configuration in this process: the second driver of the engine, beside the actors."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random

from workers.engine.cache import MemoryCache, ReplyCache, SingleFlight
from workers.engine.calls import Caller
from workers.engine.chunks import chunk_size, split
from workers.engine.clock import Clock, SystemClock
from workers.engine.executor import Executor
from workers.engine.kinds import make_candidates, open_session
from workers.engine.permits import LocalPermits, Quota
from workers.engine.providers import Provider
from workers.engine.records import Case, Request, Score, Slice
from workers.engine.scorers import build_scorer
from workers.engine.spec import Configuration
from workers.engine.targets import TARGETS
from workers.engine.throttle import Throttle

CHUNKS_AHEAD = 16


async def run_here(
    configuration: Configuration,
    cases: Sequence[Case],
    providers: Mapping[str, Provider],
    *,
    cache: ReplyCache | None = None,
    clock: Clock | None = None,
    on_score: Callable[[Score], None] = lambda score: None,
) -> list[Score]:
    """Every score, in the order of the trials, whatever finished first."""
    clock = clock or SystemClock()
    throttle = Throttle(LocalPermits(clock.monotonic), clock)
    executor = build_executor(configuration, providers, throttle, cache or MemoryCache(), clock)
    try:
        scores = await drive(configuration, cases, executor, on_score)
    finally:
        await throttle.close()
    return sorted(scores, key=lambda score: score.trial.position)


async def drive(
    configuration: Configuration,
    cases: Sequence[Case],
    executor: Executor,
    on_score: Callable[[Score], None],
) -> list[Score]:
    """Plan, execute and absorb until the strategy has nothing left; chunks overlap."""
    session = open_session(configuration, len(cases))
    candidates = {candidate.key: candidate for candidate in make_candidates(configuration)}
    by_position = {case.position: case for case in cases}
    size = chunk_size(configuration.limits.max_concurrent)
    scores: list[Score] = []
    flying: set[asyncio.Task[list[Score]]] = set()

    async def execute(work: Slice) -> list[Score]:
        found: list[Score] = []

        def keep(score: Score) -> None:
            found.append(score)
            on_score(score)

        await executor.run(work, keep)
        return found

    while not session.is_finished:
        trials = session.plan(size * max(1, CHUNKS_AHEAD - len(flying)))
        for chunk in split(trials, size):
            flying.add(asyncio.create_task(execute(Slice(chunk, candidates, by_position))))
        if not flying:
            break
        ended, flying = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            scores += task.result()
            session.absorb(task.result())
    return scores


def build_executor(
    configuration: Configuration,
    providers: Mapping[str, Provider],
    throttle: Throttle,
    cache: ReplyCache,
    clock: Clock,
) -> Executor:
    limits = configuration.limits
    quota = Quota("run", limits.max_concurrent, limits.requests_per_minute)

    def quotas(request: Request) -> tuple[Quota, ...]:
        return (quota,)

    caller = Caller(
        providers,
        throttle,
        quotas,
        clock,
        Random(configuration.seed),
        attempts=limits.attempts,
        timeout_seconds=limits.timeout_seconds,
    )
    scorers = [build_scorer(scorer.name, scorer.options) for scorer in configuration.scorers]
    target = TARGETS[configuration.kind]()
    return Executor(target, caller, providers, scorers, cache, SingleFlight(), configuration.cache)
