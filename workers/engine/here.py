"""Runs a configuration in this process: the second driver of the engine, beside the actors."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random

from workers.engine.cache import MemoryCache, ReplyCache, SingleFlight
from workers.engine.calls import Caller, CallParts, CallRules
from workers.engine.chunks import chunk_size
from workers.engine.clock import Clock, SystemClock
from workers.engine.executor import Executor
from workers.engine.kinds import make_candidates, open_session
from workers.engine.permits import LocalPermits, Quota
from workers.engine.providers import Provider
from workers.engine.records import Case, Request, Score, Slice
from workers.engine.schedule import Room, plan_chunks, split_slots
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
    executor = build_executor(
        configuration, len(cases), providers, throttle, cache or MemoryCache(), clock
    )
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
    flying: dict[asyncio.Task[list[Score]], str] = {}  # with the first candidate of the chunk

    async def execute(work: Slice) -> list[Score]:
        found: list[Score] = []

        def keep(score: Score) -> None:
            found.append(score)
            on_score(score)

        await executor.run(work, keep)
        return found

    while not session.is_finished:
        room = Room(max(1, CHUNKS_AHEAD - len(flying)), size)
        for chunk in plan_chunks(session, configuration, len(cases), set(flying.values()), room):
            task = asyncio.create_task(execute(Slice(chunk, candidates, by_position)))
            flying[task] = chunk[0].candidate
        if not flying:
            break
        ended, _ = await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            del flying[task]
            scores += task.result()
            session.absorb(task.result())
    return scores


def build_executor(
    configuration: Configuration,
    cases: int,
    providers: Mapping[str, Provider],
    throttle: Throttle,
    cache: ReplyCache,
    clock: Clock,
) -> Executor:
    limits = configuration.limits
    quota = Quota(
        "run", limits.max_concurrent, limits.requests_per_minute, limits.tokens_per_minute
    )

    of_candidate = split_slots(configuration, cases).cases_per_candidate

    def quotas(request: Request) -> tuple[Quota, ...]:
        if limits.schedule != "two_level":
            return (quota,)
        return (Quota(f"run/{request.candidate}", of_candidate), quota)

    parts = CallParts(throttle, clock, Random(configuration.seed))
    rules = CallRules(quotas, limits.attempts, limits.timeout_seconds)
    caller = Caller(providers, parts, rules)
    scorers = [build_scorer(scorer.name, scorer.options) for scorer in configuration.scorers]
    target = TARGETS[configuration.kind]()
    return Executor(target, caller, providers, scorers, cache, SingleFlight(), configuration.cache)
