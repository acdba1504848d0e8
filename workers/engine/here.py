"""Runs a configuration in this process: the second driver of the engine, beside the actors."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal, NamedTuple

from workers.engine.calling.asking import AskParts
from workers.engine.calling.cache import MemoryCache, ReplyCache, SingleFlight
from workers.engine.calling.calls import Caller, CallParts, CallRules, Quotas
from workers.engine.calling.prices import Prices
from workers.engine.chunks import chunk_size
from workers.engine.clock import Clock, SystemClock
from workers.engine.ending_tasks import end_tasks
from workers.engine.executor import Executor, executor_of
from workers.engine.outside import Outside
from workers.engine.providers import Provider
from workers.engine.providers.routes import Route
from workers.engine.records import CASE, EVALUATE, Candidate, Case, Request, Score, Slice
from workers.engine.schedule import Room, calls_per_candidate, plan_chunks, slots_allowed
from workers.engine.session import Session
from workers.engine.spec.births import check_births
from workers.engine.spec.configuration import Configuration
from workers.engine.streaks import Streak, has_too_many_failures
from workers.engine.targets import TargetParts
from workers.engine.targets.slots import Slots
from workers.engine.throttling.budget_shares import allowance_of
from workers.engine.throttling.permits import LocalPermits, Quota
from workers.engine.throttling.throttle import Throttle

CHUNKS_AHEAD = 16
LOOK_SECONDS = 0.05  # how often a run with a budget looks whether it is used up
LAST_SCORES_SECONDS = 0.2  # after the last call ended, for its score to be told
QUOTA = "run"


class Stop(NamedTuple):
    """Why a run stopped before it was done."""

    by: Literal["budget", "errors"]
    reason: str


FAILURES = Stop("errors", "More trials failed than fail_on_error allows.")

OnCandidate = Callable[[Candidate], None]
OnScore = Callable[[Score], None]
OnStop = Callable[[Stop], None]
ModelQuotas = Mapping[tuple[str, str], Quota]
"""What the provider allows, by endpoint and model."""


async def run_here(
    configuration: Configuration,
    cases: Sequence[Case],
    providers: Mapping[str, Provider],
    *,
    cache: ReplyCache | None = None,
    clock: Clock | None = None,
    prices: Prices | None = None,
    model_quotas: ModelQuotas | None = None,
    webhooks: Route | None = None,
    on_candidate: OnCandidate = lambda candidate: None,
    on_score: OnScore = lambda score: None,
    on_stop: OnStop = lambda stop: None,
) -> list[Score]:
    """Every score, in the order of the trials, whatever finished first.

    Fewer when a budget is used up, too many trials fail, or the same permanent error comes again
    and again: `on_stop` is told why, and calls in flight are waited for. `on_candidate` is told
    each candidate before its first score: those of the launch, then those that are born.
    `webhooks` is where scorers may post to, and how; None: to public addresses.
    """
    clock = clock or SystemClock()
    throttle = Throttle(LocalPermits(clock.monotonic), clock)
    slots = slots_here(configuration, model_quotas or {})
    of_run = run_quota(configuration, slots)
    quotas = build_quotas(configuration, len(cases), model_quotas or {})
    limits = configuration.limits
    rules = CallRules(quotas, limits.attempts, limits.timeout_seconds, prices or {})
    outside = Outside(webhooks, clock)
    parts = CallParts(throttle, clock, Random(configuration.seed), outside=outside)
    caller = Caller(providers, parts, rules)
    asking = AskParts(
        caller,
        providers,
        cache or MemoryCache(),
        SingleFlight(),
        configuration.cache,
        prices=rules.prices,
        accepted=configuration.answers.accepted,
        outside=outside,
    )
    share, slots_for_work = parts.processes.share(QUOTA), Slots(throttle, lambda: (of_run,))
    target = TargetParts(limits.timeout_seconds, parts.threads, share, slots_for_work)
    executor = executor_of(configuration, asking, target)
    watch = Watch(configuration, throttle, clock)
    drive = Drive(configuration, cases, slots, executor, watch, on_candidate, on_score)
    try:
        await drive.run(on_stop)
    finally:
        await drive.close()
        await parts.close()
    return sorted(drive.scores, key=lambda score: score.trial.position)


class Watch:
    """Says when a run must stop before it is done, and lets its calls in flight end."""

    def __init__(self, configuration: Configuration, throttle: Throttle, clock: Clock) -> None:
        self._budget = configuration.budget
        self._most_failures = configuration.fail_on_error
        self._timeout_seconds = configuration.limits.timeout_seconds
        self._throttle = throttle
        self._clock = clock
        self._started = clock.monotonic()
        self._failed = self._done = 0
        self._models = {c.key: models_of(configuration, c) for c in configuration.make_candidates()}
        self._streak = Streak(len(set(self._models.values())))
        self._hopeless = ""
        self.alarm = asyncio.Event()

    @property
    def look_seconds(self) -> float | None:
        return LOOK_SECONDS if any(total for _, total in self._budget) else None

    def note(self, score: Score) -> None:
        self._done += 1
        self._failed += bool(score.error)
        if told := self._streak.note(score, self._models.get(score.trial.candidate)):
            self._hopeless = self._hopeless or told
            self.alarm.set()

    def stop(self) -> Stop | None:
        """None while it may go on."""
        if self._hopeless:
            return Stop("errors", self._hopeless)
        if has_too_many_failures(self._most_failures, self._failed, self._done):
            return FAILURES
        if spent := self._spent():
            return Stop("budget", f"The budget of {spent} is used up.")
        return None

    def _spent(self) -> str:
        ran_seconds = self._clock.monotonic() - self._started
        if self._budget.seconds is not None and ran_seconds >= self._budget.seconds:
            return "seconds"
        return self._throttle.spent(QUOTA)

    async def drain(self) -> None:
        await self._throttle.drain(self._timeout_seconds)


class Drive:
    """Plans, executes and absorbs until the strategy has nothing left; chunks overlap."""

    def __init__(
        self,
        configuration: Configuration,
        cases: Sequence[Case],
        slots: int,
        executor: Executor,
        watch: Watch,
        on_candidate: OnCandidate,
        on_score: OnScore,
    ) -> None:
        self._configuration = configuration
        self._slots = slots
        self._cases = dict(enumerate(cases))  # a slice has gaps between its positions
        self._executor = executor
        self._watch = watch
        self._on_candidate = on_candidate
        self._on_score = on_score
        self._session = Session(configuration.begin(len(cases)))
        self._candidates: dict[str, Candidate] = {}
        self._take_in(self._session.candidates)
        self._flying: dict[asyncio.Task[list[Score]], Slice] = {}
        self.scores: list[Score] = []

    async def run(self, on_stop: OnStop) -> None:
        alarm = asyncio.create_task(self._watch.alarm.wait())
        try:
            await self._run(alarm, on_stop)
        finally:
            await end_tasks([alarm])

    async def _run(self, alarm: asyncio.Task[Any], on_stop: OnStop) -> None:
        while not self._session.is_finished:
            self._plan()
            if not self._flying:
                return
            ended, _ = await asyncio.wait(
                {*self._flying, alarm},
                timeout=self._watch.look_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in [one for one in self._flying if one in ended]:
                del self._flying[task]
                self._session.absorb_fresh(task.result())
            if stop := self._reason_to_stop():
                await self._stop()
                on_stop(stop)
                return

    def _reason_to_stop(self) -> Stop | None:
        """None when all is done: a budget that was just enough is no reason."""
        return None if self._session.is_finished else self._watch.stop()

    def _plan(self) -> None:
        configuration = self._configuration
        first_ones = {work.trials[0].candidate for work in self._flying.values()}
        room = Room(
            max(1, CHUNKS_AHEAD - len(self._flying)),
            chunk_size(self._slots),
            self._slots,
        )
        chunks = plan_chunks(self._session, configuration, len(self._cases), first_ones, room)
        born = self._session.candidates[len(self._candidates) :]
        if born:
            check_births(configuration, born, columns_of(self._cases.values()))
            self._take_in(born)
        for chunk in chunks:
            work = Slice(chunk, self._candidates, self._cases)
            self._flying[asyncio.create_task(self._execute(work))] = work

    def _take_in(self, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            self._candidates[candidate.key] = candidate
            self._on_candidate(candidate)

    async def _execute(self, work: Slice) -> list[Score]:
        found: list[Score] = []

        def keep(score: Score) -> None:
            if CASE in self._session.hears:
                score = replace(score, fields=self._cases[score.trial.case].fields)
            found.append(score)
            self.scores.append(score)
            if self._candidates[score.trial.candidate].role == EVALUATE:
                self._watch.note(score)
            self._on_score(score)

        await self._executor.run(work, keep)
        return found

    async def _stop(self) -> None:
        """What was paid for is judged, unless a judge would have to be paid, too."""
        await self._watch.drain()
        if self._flying:
            await asyncio.wait(self._flying, timeout=LAST_SCORES_SECONDS)
        if any(scorer.models for scorer in self._configuration.scorers):
            return
        while any(work.unjudged for work in self._flying.values()):
            await asyncio.wait(self._flying, timeout=LOOK_SECONDS)

    async def close(self) -> None:
        """Also when it was cancelled, or a chunk failed: nothing flies on after it."""
        await end_tasks(self._flying)


def slots_here(configuration: Configuration, model_quotas: ModelQuotas) -> int:
    """Calls at once, by the run's limit and by those of its models."""
    at_once = {endpoint: quota.max_concurrent for (endpoint, _), quota in model_quotas.items()}
    return slots_allowed(configuration, at_once)


def models_of(configuration: Configuration, candidate: Candidate) -> frozenset[tuple[str, str]]:
    called = configuration.models_called(candidate.document)
    return frozenset((model["endpoint"], model["model"]) for model in called)


def columns_of(cases: Iterable[Case]) -> list[str]:
    return list(dict.fromkeys(name for case in cases for name in case.fields))


def run_quota(configuration: Configuration, slots: int) -> Quota:
    limits = configuration.limits
    return Quota(
        QUOTA,
        slots,
        limits.requests_per_minute,
        limits.tokens_per_minute,
        allowance=allowance_of(configuration.budget),
    )


def build_quotas(configuration: Configuration, cases: int, model_quotas: ModelQuotas) -> Quotas:
    slots = slots_here(configuration, model_quotas)
    of_run = run_quota(configuration, slots)
    of_candidate = calls_per_candidate(configuration, cases, slots)

    def quotas(request: Request) -> tuple[Quota, ...]:
        of_model = model_quotas.get((request.endpoint, request.model))
        shared = (of_run,) if of_model is None else (of_run, of_model)
        if of_candidate is None:
            return shared
        return (Quota(f"{QUOTA}/{request.candidate}", of_candidate), *shared)

    return quotas
