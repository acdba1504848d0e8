"""Finds out how many calls are best made at once, from measured latency.

While twice as many at once bring clearly more answers a second, there is room. Where they only take
longer, they wait at the server, and it is told what to do about that. In a notebook `BatchSize`
tries sizes; on the site the throttle measures with whatever is in flight (`LatencyByFlight`).
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

FIRST_SIZE = 2
WORTH_IT = 1.15  # times as many answers a second: less is noise
QUEUEING = 1.6  # times the latency with twice as many at once: nearly all of it is waiting
ROUNDS = 2  # of answers for each slot, before a size is judged

ENOUGH = 12  # answers with about so many in flight, before they are compared
REMEMBERED = 50  # of the answers with about so many in flight: servers are busy at noon

SEEN = (
    "{tried} calls at once take {times:.1f} times as long as {size}: they wait at the server, "
    "which works on no more than about {size} at once."
)
WHAT_TO_DO = (
    "For Ollama, raise OLLAMA_NUM_PARALLEL as far as its memory allows, or give the endpoint "
    "further servers (base_urls)."
)


class Level(NamedTuple):
    """What was measured with so many at once."""

    size: int
    latency_seconds: float  # the mean

    @property
    def rate(self) -> float:
        """Answers a second (Little's law)."""
        return self.size / self.latency_seconds if self.latency_seconds else float("inf")


class Queueing(NamedTuple):
    """Calls that wait at the server: more at once bring nothing."""

    size: int  # that it works on at once, at most
    tried: int
    times: float  # so many times as long as with `size`

    @property
    def advice(self) -> str:
        """For a person."""
        seen = SEEN.format(tried=self.tried, times=self.times, size=self.size)
        return f"{seen} {WHAT_TO_DO}"


def is_worth_it(best: Level, tried: Level) -> bool:
    return tried.rate >= WORTH_IT * best.rate


def queueing_of(best: Level, tried: Level) -> Queueing | None:
    """Of a size that is not worth it: whether calls wait at the server, or answers are as slow for
    another reason."""
    times = tried.latency_seconds / best.latency_seconds if best.latency_seconds else 1.0
    return Queueing(best.size, tried.size, times) if times >= QUEUEING else None


class LatencyByFlight:
    """What answers took with about so many in flight, where nobody chooses how many: with 4 to 7,
    with 8 to 15, and so on."""

    def __init__(self) -> None:
        self._sizes: dict[int, float] = {}  # the mean, by the number of binary digits
        self._seconds: dict[int, float] = {}
        self._counts: Counter[int] = Counter()

    def note(self, in_flight: int, latency_seconds: float) -> None:
        """Of an answer to a call that started as one of `in_flight`."""
        place = in_flight.bit_length()
        self._counts[place] += 1
        part = 1 / min(self._counts[place], REMEMBERED)
        for means, value in ((self._sizes, in_flight), (self._seconds, latency_seconds)):
            mean = means.get(place, 0.0)
            means[place] = mean + part * (value - mean)

    def queueing(self) -> Queueing | None:
        """As far as is known: None where more at once brought more, or nobody tried."""
        best: Level | None = None
        for place in sorted(self._counts):
            if self._counts[place] < ENOUGH:
                continue
            level = Level(round(self._sizes[place]), self._seconds[place])
            if best is None or is_worth_it(best, level):
                best = level
            elif found := queueing_of(best, level):
                return found
        return None


class BatchSize:
    def __init__(self, most: int) -> None:
        self._most = most
        self._best: Level | None = None
        self._latencies: list[float] = []
        self._is_settled = False
        self.size = min(FIRST_SIZE, most)
        self.advice = ""  # for a person, where calls wait at the server

    def note(self, latency_seconds: float) -> None:
        """Of an answer that arrived while `size` were under way."""
        self._latencies.append(latency_seconds)
        if not self._is_settled and len(self._latencies) >= ROUNDS * self.size:
            mean = sum(self._latencies) / len(self._latencies)
            self._judge(Level(self.size, mean))
            self._latencies = []

    def _judge(self, level: Level) -> None:
        best = self._best
        if best is not None and not is_worth_it(best, level):
            self._settle(best, level)
            return
        self._best = level
        self._is_settled = level.size >= self._most
        self.size = min(2 * level.size, self._most)

    def _settle(self, best: Level, tried: Level) -> None:
        self._is_settled = True
        self.size = best.size
        if found := queueing_of(best, tried):
            self.advice = found.advice


class AdaptiveSlots:
    """As many at once as its size says at the moment."""

    def __init__(self, size: BatchSize, monotonic: Callable[[], float]) -> None:
        self.size = size
        self._monotonic = monotonic
        self._held = 0
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        async with self._freed:
            await self._freed.wait_for(lambda: self._held < self.size.size)
            self._held += 1
        started = self._monotonic()
        try:
            yield
            self.size.note(self._monotonic() - started)
        finally:
            async with self._freed:
                self._held -= 1
                self._freed.notify_all()
