"""Runs the trials of a chunk: cache, throttle, call, score. Failures become scores with errors."""

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from workers.engine.cache import Flights, ReplyCache, cache_key
from workers.engine.call_notes import CallNotes
from workers.engine.calls import Caller
from workers.engine.errors import CallError, EngineError, FlawedAnswer, Refused, ScorerFailed
from workers.engine.flaws import check_whole, is_kept
from workers.engine.prices import Bill, Prices
from workers.engine.providers import Provider
from workers.engine.records import (
    EVALUATE,
    JOINED,
    Attempt,
    Candidate,
    Case,
    Judgement,
    Outcome,
    Reply,
    Request,
    Score,
    Slice,
    Trial,
)
from workers.engine.score_records import encode_record
from workers.engine.scorers import Scorer
from workers.engine.targets import Target


class NotKept(Exception):
    """An answer that no equal call may share."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.flaw)
        self.reply = reply


OnScore = Callable[[Score], None]
ANSWERED = 1.0  # the value of a trial that is not judged: its answer is told to the strategy
CACHE_HIT = Attempt("cache hit", "ok", 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Opening:
    """A trial with its first request, ready to be looked up or sent."""

    trial: Trial
    candidate: Candidate
    case: Case
    request: Request | None  # None: only the asking will tell
    key: str


class Verdict(NamedTuple):
    value: float
    passed: bool | None
    judgements: tuple[Judgement, ...] = ()


class Executor:
    """Executes chunks of one run. `cache_mode` is use, refresh (write only) or off."""

    def __init__(
        self,
        target: Target,
        caller: Caller,
        providers: Mapping[str, Provider],
        scorers: Sequence[Scorer],
        cache: ReplyCache,
        flights: Flights,
        cache_mode: str = "use",
        scope: str = "",
        prices: Prices | None = None,
        accepted: Collection[str] = (),
    ) -> None:
        self._target = target
        self._caller = caller
        self._providers = providers
        self._scorers = scorers
        self._cache = cache
        self._flights = flights
        self._cache_mode = cache_mode
        # Who refreshes wants answers of its own time: it joins no calls of other runs.
        self._scope = scope if cache_mode == "refresh" else ""
        self._prices = prices or {}
        self._accepted = accepted  # the flaws of answers that are scored all the same

    async def run(
        self, work: Slice, on_score: OnScore, hits: Mapping[str, Reply] | None = None
    ) -> None:
        """Score every trial of the chunk that has no score yet, in whatever order they end.
        `hits` are the cached replies where the caller has looked for them."""
        openings = [o for t in work.trials if (o := self._open(t, work, on_score)) is not None]
        if hits is None and self._cache_mode == "use":
            hits = await self._cache.get_many([o.key for o in openings if o.key])
        hits = hits or {}
        async with asyncio.TaskGroup() as group:
            for opening in openings:
                hit = hits.get(opening.key)
                if hit is not None and self._target.is_one_call:
                    on_score(self._score_hit(opening, hit))
                    continue
                group.create_task(self._run_trial(opening, on_score, hit))

    def keys(self, work: Slice) -> list[str]:
        """Under what the first calls of the trials are cached; nothing where the cache is not read.
        May be called on any thread."""
        if self._cache_mode != "use":
            return []
        found = [self._open(trial, work, lambda score: None) for trial in work.trials]
        return [opening.key for opening in found if opening is not None and opening.key]

    def _open(self, trial: Trial, work: Slice, on_score: OnScore) -> Opening | None:
        """Prepare a trial. One that cannot be prepared is scored as refused at once."""
        if trial.position in work.done:
            return None
        candidate, case = work.candidates[trial.candidate], work.cases[trial.case]
        try:
            request = self._target.opening(candidate, case, trial.repeat)
            key = self._key(request) if request else ""
            return Opening(trial, candidate, case, request, key)
        except EngineError as error:
            on_score(Score(trial, error=Refused.name, message=str(error)))
            return None

    def _key(self, request: Request) -> str:
        return cache_key(self._providers[request.endpoint].service, request)

    async def _run_trial(self, opening: Opening, on_score: OnScore, hit: Reply | None) -> None:
        trace: list[Attempt] = []
        bill = Bill(self._prices)
        notes = None if self._target.is_one_call else CallNotes(bill)

        async def ask(request: Request) -> Reply:
            if request is opening.request:
                key, known = opening.key, hit
            else:
                key = self._key(request)
                known = await self._look_up(key)
            if known is not None:
                trace.append(CACHE_HIT._replace(step=request.step))
                reply = as_cached(known)
            else:
                reply = await self._ask(request, key, trace)
            bill.add(request, reply)
            if notes:  # a step: what is made of its answer would look like a whole one
                check_whole(reply, self._accepted, request.body, request.step)
            return reply

        trial = opening.trial
        try:
            found = await self._target.answer(
                opening.request,
                opening.candidate,
                opening.case,
                trial.repeat,
                notes.noting(ask) if notes else ask,
            )
        except FlawedAnswer as error:  # of a step: its time and tokens are not those of the trial
            failed = failed_score(trial, error, trace, bill)
            score = replace(failed, answer=error.reply.text, truncated=error.reply.truncated)
        except CallError as error:
            score = failed_score(trial, error, trace, bill)
        else:
            score = self._score(opening, found, trace, bill)
        on_score(replace(score, calls=notes.calls) if notes else score)

    async def _ask(self, request: Request, key: str, trace: list[Attempt]) -> Reply:
        """One request through single flight and cache to the provider."""
        if self._cache_mode == "off":
            return await self._caller.call(request, trace)

        async def call() -> Reply:
            reply = await self._caller.call(request, trace)
            if not is_kept(reply, self._accepted):
                raise NotKept(reply)
            self._cache.put(key, request, reply)
            return reply

        try:
            landing = await self._flights.fly(key, call, self._scope)
        except NotKept as flawed:
            return flawed.reply
        if not landing.is_joined:
            return landing.reply
        trace.append(Attempt(JOINED, "ok", 0.0, 0.0, step=request.step))
        return as_cached(landing.reply)

    async def _look_up(self, key: str) -> Reply | None:
        """A later call of a trial: its key is known only now."""
        if self._cache_mode != "use":
            return None
        return (await self._cache.get_many([key])).get(key)

    def _score_hit(self, opening: Opening, reply: Reply) -> Score:
        hit = as_cached(reply)
        bill = Bill(self._prices)
        assert opening.request is not None  # it was looked up
        bill.add(opening.request, hit)
        return self._score(opening, hit, [CACHE_HIT], bill)

    def _score(
        self, opening: Opening, found: Reply | Outcome, trace: list[Attempt], bill: Bill
    ) -> Score:
        outcome = found if isinstance(found, Outcome) else Outcome(found)
        reply = outcome.reply
        try:
            verdict = self._judge(opening, outcome)
            record = encode_record(outcome.record)
        except CallError as error:
            return failed_score(opening.trial, error, trace, bill, reply)
        return Score(
            opening.trial,
            value=verdict.value,
            passed=verdict.passed,
            answer=reply.text,
            judgements=verdict.judgements,
            attempts=tuple(trace),
            latency_ms=reply.latency_ms,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            cached=reply.cached,
            calls_sent=count_calls(trace),
            cost=bill.cost,
            cost_saved=bill.saved,
            unpriced=bill.count_unpriced(trace),
            full_cost=bill.full,
            truncated=reply.truncated,
            record=record,
        )

    def _judge(self, opening: Opening, outcome: Outcome) -> Verdict:
        """By the scorers, unless the target gave a value itself, or the answer is only told to the
        strategy."""
        if outcome.value is not None:
            return Verdict(checked_value(outcome.value), outcome.passed)
        reply = outcome.reply
        check_whole(reply, self._accepted, opening.request.body if opening.request else {})
        if opening.candidate.role != EVALUATE:
            return Verdict(ANSWERED, None)
        judgements = tuple(scorer.judge(reply.text, opening.case) for scorer in self._scorers)
        passed = all(judgement.passed for judgement in judgements)
        return Verdict(mean_value(judgements), passed, judgements)


def checked_value(value: float) -> float:
    if not math.isfinite(value):
        raise ScorerFailed(f"The target gave the value {value}. A score is a finite number.")
    return float(value)


def as_cached(reply: Reply) -> Reply:
    """With the time that the call took when it was made."""
    return replace(reply, cached=True)


def failed_score(
    trial: Trial, error: CallError, trace: list[Attempt], bill: Bill, reply: Reply | None = None
) -> Score:
    return Score(
        trial,
        error=error.name,
        message=str(error)[:500],
        answer=reply.text if reply else "",
        attempts=tuple(trace),
        latency_ms=reply.latency_ms if reply else None,
        tokens_in=reply.tokens_in if reply else None,
        tokens_out=reply.tokens_out if reply else None,
        cached=bool(reply and reply.cached),
        calls_sent=count_calls(trace),
        cost=bill.cost,
        cost_saved=bill.saved,
        unpriced=bill.count_unpriced(trace),
        full_cost=bill.full,
        truncated=bool(reply and reply.truncated),
    )


def mean_value(judgements: Sequence[Judgement]) -> float:
    return sum(judgement.value for judgement in judgements) / len(judgements)


def count_calls(trace: Sequence[Attempt]) -> int:
    return sum(attempt.what == "call" for attempt in trace)
