"""One call to a provider: wait for a slot, call under a deadline, try again if it may help."""

from collections.abc import Callable, Mapping
from random import Random

from workers.engine.clock import Clock
from workers.engine.errors import CallError, RateLimited
from workers.engine.lanes import AsyncLane
from workers.engine.permits import Quota
from workers.engine.providers import Provider
from workers.engine.records import Attempt, Reply, Request
from workers.engine.throttle import Throttle

LONGEST_PAUSE_SECONDS = 120.0  # a Retry-After of an hour is not obeyed in full
LONGEST_BACKOFF_SECONDS = 30.0
RATE_LIMIT_WAITS = 50  # a wait is not an attempt, but it must end some day

Quotas = Callable[[Request], tuple[Quota, ...]]


class Caller:
    """Makes the calls of one run. All retries are here and nowhere else."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        throttle: Throttle,
        quotas: Quotas,
        clock: Clock,
        random: Random,
        *,
        attempts: int,
        timeout_seconds: float,
    ) -> None:
        self._providers = providers
        self._throttle = throttle
        self._quotas = quotas
        self._clock = clock
        self._random = random
        self._lane = AsyncLane()
        self._attempts = attempts
        self._timeout_seconds = timeout_seconds

    async def call(self, request: Request, trace: list[Attempt]) -> Reply:
        """The answer, or the last CallError. Every step is added to `trace`."""
        tries = waits = 0
        while True:
            try:
                return await self._try(request, trace)
            except RateLimited as error:
                waits += 1
                if waits > RATE_LIMIT_WAITS:
                    raise
                self._close_gate(request, error, waits)
            except CallError as error:
                tries += 1
                if not error.is_transient or tries >= self._attempts:
                    raise
                await self._clock.sleep(self._backoff_seconds(tries))

    async def _try(self, request: Request, trace: list[Attempt]) -> Reply:
        asked = self._clock.monotonic()
        async with self._throttle.slot(self._quotas(request)):
            started = self._clock.monotonic()
            provider = self._providers[request.endpoint]
            try:
                reply = await self._lane.call(provider.send(request), self._timeout_seconds)
            except CallError as error:
                trace.append(self._step(error.name, asked, started, str(error)))
                raise
            step = self._step("ok", asked, started)
            trace.append(step)
        return Reply(reply.text, step.took_ms, reply.tokens_in, reply.tokens_out)

    def _step(self, outcome: str, asked: float, started: float, message: str = "") -> Attempt:
        waited_ms = (started - asked) * 1000
        took_ms = (self._clock.monotonic() - started) * 1000
        return Attempt("call", outcome, round(waited_ms, 1), round(took_ms, 1), message)

    def _close_gate(self, request: Request, error: RateLimited, waits: int) -> None:
        """Nobody calls this model until the provider wants to hear from us again."""
        seconds = error.retry_after_seconds
        if seconds is None:
            seconds = self._backoff_seconds(waits)
        model_quota = self._quotas(request)[-1]
        self._throttle.pause(model_quota.key, min(seconds, LONGEST_PAUSE_SECONDS))

    def _backoff_seconds(self, tries: int) -> float:
        """Full jitter: spreads the retries of calls that failed together."""
        return self._random.uniform(0, min(LONGEST_BACKOFF_SECONDS, 0.5 * 2**tries))
