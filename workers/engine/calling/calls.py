"""One call to a provider: wait for a slot, call under a deadline, try again if it may help."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from workers.engine.calling.embeddings import EMBEDDINGS_PATH
from workers.engine.calling.prices import NANOS, Price, Prices, cost_of
from workers.engine.calling.text_batches import Item, TextBatches
from workers.engine.clock import Clock
from workers.engine.errors import CallError, RateLimited, TimedOut
from workers.engine.json_text import to_json
from workers.engine.lanes import AsyncLane, ProcessLane, ThreadLane
from workers.engine.messages.contents import guess_tokens
from workers.engine.outside import Outside
from workers.engine.providers import Provider
from workers.engine.records import CANCELLED, Attempt, Reply, Request
from workers.engine.throttling.permits import Quota
from workers.engine.throttling.pools import Permit
from workers.engine.throttling.retry_budget import LocalRetryBudgets, RetryBudgets
from workers.engine.throttling.throttle import Throttle

LONGEST_PAUSE_SECONDS = 120.0  # a Retry-After of an hour is not obeyed in full
LONGEST_BACKOFF_SECONDS = 30.0
RATE_LIMIT_WAITS = 50  # a wait is not an attempt, but it must end some day
BUDGET_WAITS = 20  # then the retry is made all the same: nothing waits for ever
CHARACTERS_PER_TOKEN = 4
EXPECTED_ANSWER_TOKENS = 200  # until answers tell

Quotas = Callable[[Request], tuple[Quota, ...]]


@dataclass(frozen=True)
class CallRules:
    """How a run makes its calls."""

    quotas: Quotas
    attempts: int
    timeout_seconds: float
    prices: Prices = field(default_factory=dict)


@dataclass(frozen=True)
class CallParts:
    """What all runs of a process share to make calls."""

    throttle: Throttle
    clock: Clock
    random: Random
    budgets: RetryBudgets = field(default_factory=LocalRetryBudgets)
    threads: ThreadLane = field(default_factory=ThreadLane)
    processes: ProcessLane = field(default_factory=ProcessLane)
    batches: TextBatches = field(default_factory=TextBatches)
    outside: Outside = field(default_factory=Outside)

    async def close(self) -> None:
        """What was opened here. Threads cannot be ended; they end with the process."""
        await self.processes.close()
        await self.batches.close()
        await self.outside.close()
        await self.throttle.close()


class Caller:
    """Makes the calls of one run. All retries are here and nowhere else."""

    def __init__(
        self, providers: Mapping[str, Provider], parts: CallParts, rules: CallRules
    ) -> None:
        self._providers = providers
        self._parts = parts
        self._rules = rules
        self._lane = AsyncLane(rules.timeout_seconds)

    async def call(self, request: Request, trace: list[Attempt]) -> Reply:
        """The answer, or the last CallError. Every step is added to `trace`."""
        if request.path == EMBEDDINGS_PATH:
            return await self._embed(request, trace)
        return await self._call(request, trace)

    async def _embed(self, request: Request, trace: list[Attempt]) -> Reply:
        """One text, in one request with others under the same quotas."""
        quotas = tuple(quota.place for quota in self._rules.quotas(request))
        alike = to_json({**request.body, "input": ""})
        item = Item(request, self._call)
        # An endpoint whose key was just replaced is another service: its texts travel apart.
        service = self._providers[request.endpoint].service
        place = (request.endpoint, service, alike, quotas)
        outcome = await self._parts.batches.call(place, item, self._parts.clock)
        trace += outcome.attempts
        if outcome.reply is None:
            raise outcome.error or CallError("The text was not embedded.")
        return outcome.reply

    async def _call(self, request: Request, trace: list[Attempt]) -> Reply:
        tries = waits = 0
        while True:
            try:
                reply = await self._try(request, trace, waits)
            except RateLimited:
                waits += 1
                if waits > RATE_LIMIT_WAITS:
                    raise
            except CallError as error:
                tries += 1
                most = min(self._rules.attempts, error.most_attempts)
                if not error.is_transient or tries >= most:
                    raise
                await self._back_off(request.endpoint, tries)
            else:
                self._parts.budgets.deposit(request.endpoint)
                return reply

    async def _try(self, request: Request, trace: list[Attempt], waits: int) -> Reply:
        asked = self._parts.clock.monotonic()
        quotas = self._rules.quotas(request)
        price = self._rules.prices.get((request.endpoint, request.model))
        async with self._parts.throttle.slot(quotas, partial(guess_use, request, price)) as permit:
            started = self._parts.clock.monotonic()
            provider = self._providers[request.endpoint]
            try:
                reply = await self._lane.call(provider.send(request))
            except CallError as error:
                self._note_failure(permit, error, waits)
                trace.append(self._step(request, error.name, asked, started, str(error)))
                raise
            except asyncio.CancelledError:  # it was sent, and may have to be paid
                trace.append(self._step(request, CANCELLED, asked, started))
                raise
            note_success(permit, reply, price)
            step = self._step(request, "ok", asked, started)
            trace.append(step)
        return replace(reply, latency_ms=step.took_ms, told=None, service=provider.service)

    def _step(
        self, request: Request, outcome: str, asked: float, started: float, message: str = ""
    ) -> Attempt:
        waited_ms = (started - asked) * 1000
        took_ms = (self._parts.clock.monotonic() - started) * 1000
        waited_ms, took_ms = round(waited_ms, 1), round(took_ms, 1)
        return Attempt("call", outcome, waited_ms, took_ms, message, request.step)

    def _note_failure(self, permit: Permit, error: CallError, waits: int) -> None:
        if not isinstance(error, RateLimited):
            permit.is_late = isinstance(error, TimedOut)
            permit.is_troubled = error.is_transient and not permit.is_late
            permit.refusal = None if error.is_transient else error
            permit.trouble = str(error) if error.is_transient else ""
            return
        seconds = error.retry_after_seconds
        if seconds is None:
            seconds = self._backoff_seconds(waits + 1)
        permit.is_throttled = True
        permit.pause_seconds = min(seconds, LONGEST_PAUSE_SECONDS)

    async def _back_off(self, endpoint: str, tries: int) -> None:
        """Wait before a retry, and longer while the retry budget is spent."""
        for _ in range(BUDGET_WAITS):
            await self._parts.clock.sleep(self._backoff_seconds(tries))
            if await self._parts.budgets.withdraw(endpoint):
                return

    def _backoff_seconds(self, tries: int) -> float:
        """Full jitter: spreads the retries of calls that failed together."""
        longest = min(LONGEST_BACKOFF_SECONDS, 0.5 * 2**tries)
        return self._parts.random.uniform(0, longest)


def note_success(permit: Permit, reply: Reply, price: Price | None) -> None:
    permit.is_good = True
    cost = cost_of(price, reply.tokens_in, reply.tokens_out)
    permit.nanos_used = permit.nanos_reserved if cost is None else round(cost * NANOS)
    permit.used = (reply.tokens_in or 0) + (reply.tokens_out or 0) or permit.reserved
    if reply.told:
        permit.told_requests_per_minute, permit.told_tokens_per_minute = reply.told


def guess_use(request: Request, price: Price | None) -> tuple[int, int]:
    """Tokens and billionths of a dollar, before any answer has told what a call uses."""
    cost = cost_of(price, int(prompt_tokens(request)), answer_tokens(request))
    return expected_tokens(request), round((cost or 0.0) * NANOS)


def expected_tokens(request: Request) -> int:
    return int(prompt_tokens(request) + answer_tokens(request))


def prompt_tokens(request: Request) -> float:
    if request.path == EMBEDDINGS_PATH:
        return sum(map(len, request.body["input"])) / CHARACTERS_PER_TOKEN
    messages = request.body.get("messages", ())
    tokens = sum(guess_tokens(message["content"], CHARACTERS_PER_TOKEN) for message in messages)
    tools = request.body.get("tools")  # their description is part of the prompt, and is paid for
    return tokens + len(to_json(tools)) / CHARACTERS_PER_TOKEN if tools else tokens


def answer_tokens(request: Request) -> int:
    if request.path == EMBEDDINGS_PATH:
        return 0
    return request.body.get("max_tokens") or EXPECTED_ANSWER_TOKENS
