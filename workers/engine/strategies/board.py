"""What a strategy knows of its candidates: their samples, and which of them is best."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from workers.engine.records import Score
from workers.engine.statistics.pareto import Point
from workers.engine.strategies.intervals import Interval, interval_of
from workers.engine.strategies.options import Failures, Objective

SAME = 1e-9  # two means that differ by less are a tie


class Sample(NamedTuple):
    """One evaluation. A failure has no value, no latency and no price."""

    value: float | None
    latency_ms: float | None
    cost: float | None
    case: int  # repeats of one case belong together

    @classmethod
    def of(cls, score: Score) -> "Sample":
        return cls(score.value, score.latency_ms, score.full_cost, score.trial.case)


class Span(NamedTuple):
    """The smallest and the largest of what was seen, to put a value between 0 and 1."""

    low: float
    high: float

    def place(self, value: float | None) -> float:
        """Where the value lies; what failed is never better than the worst."""
        if value is None:
            return 1.0
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.0


class Board:
    """All samples, by arm: the number of a candidate. Every arm sees the cases in the same order,
    so that the first n samples of two arms are of the same n cases."""

    def __init__(self, arms: int, objective: Objective, failures: Failures) -> None:
        self._objective = objective
        self.keeps_front = objective.is_pareto
        self.ignores_price = False
        self._drops_failures = failures == "dropped"
        self.samples: list[list[Sample]] = [[] for _ in range(arms)]
        self._worth: list[list[float | None]] = [[] for _ in range(arms)]
        self._means: dict[int, float] = {}  # of all samples, until the next one comes
        self._costs: dict[int, tuple[float, float]] = {}  # latency and price, likewise

    def add(self, arm: int, score: Score) -> None:
        sample = Sample.of(score)
        self.samples[arm].append(sample)
        self._worth[arm].append(self._quality(sample))
        self._means.pop(arm, None)
        self._costs.pop(arm, None)

    def settle(self) -> None:
        """At the end of a round: prices and latencies are compared with all seen so far. Prices of
        some are no prices: a model of unknown price is neither dear nor cheap."""
        if self._objective.is_quality_alone:
            return
        answered = (sample for sample in chain(*self.samples) if sample.value is not None)
        self.ignores_price = any(sample.cost is None for sample in answered)
        costs = span_of([sample.cost for sample in chain(*self.samples)])
        latencies = span_of([sample.latency_ms for sample in chain(*self.samples)])
        for arm, samples in enumerate(self.samples):
            self._worth[arm] = [self._weigh(sample, costs, latencies) for sample in samples]
        self._means.clear()

    def count(self, arm: int) -> int:
        return len(self.samples[arm])

    def worth(self, arm: int) -> list[float | None]:
        """One for each case that the arm has seen; None where a failure is left out."""
        return self._worth[arm]

    def values(self, arm: int, first: int | None = None) -> list[float]:
        """What the arm's samples are worth, or the first of them."""
        return [worth for worth in self._worth[arm][:first] if worth is not None]

    def interval(self, arm: int, confidence: float) -> Interval:
        return interval_of(self.values(arm), confidence)

    def mean(self, arm: int) -> float:
        if arm not in self._means:
            self._means[arm] = self.mean_of_first(arm, None)
        return self._means[arm]

    def mean_of_first(self, arm: int, first: int | None) -> float:
        values = self.values(arm, first)
        return math.fsum(values) / len(values) if values else 0.0

    def has_answered(self, arm: int) -> bool:
        return any(sample.value is not None for sample in self.samples[arm])

    def leader(self, arms: Sequence[int]) -> int | None:
        """Who is ahead while the choice goes on: by the mean alone. Latencies differ from one
        execution to the next, and must not change what is asked."""
        able = [arm for arm in arms if self.has_answered(arm)]
        return max(able, key=self.mean) if able else None

    def choose(self, arms: Sequence[int], *, on_equal_data: bool = True) -> int | None:
        """The best of these arms, by what all of them have seen; then the faster, then the cheaper.
        None if none of them ever gave an answer."""
        able = [arm for arm in arms if self.has_answered(arm)]
        if not able:
            return None
        counts = set(map(self.count, able))
        if on_equal_data and len(counts) > 1:
            means = {arm: self.mean_of_first(arm, min(counts)) for arm in able}
        else:
            means = {arm: self.mean(arm) for arm in able}
        best = max(means.values())
        tied = [arm for arm in able if means[arm] >= best - SAME]
        if len(tied) == 1:
            return tied[0]
        return min(tied, key=lambda arm: (*self._latency_and_price(arm), arm))

    def point(self, arm: int) -> Point:
        """Quality, mean latency and mean price of the arm's answers."""
        quality = self.mean(arm) if self.has_answered(arm) else None
        return Point(quality, *(known_or_none(cost) for cost in self._latency_and_price(arm)))

    def may_replace(self, one: int, other: int) -> bool:
        """Whether being better is enough: under the mode pareto it must not be slower or dearer."""
        if not self.keeps_front:
            return True
        mine, theirs = self._latency_and_price(one), self._latency_and_price(other)
        return all(a <= b for a, b in zip(mine, theirs, strict=True))

    def _latency_and_price(self, arm: int) -> tuple[float, float]:
        if arm not in self._costs:
            answered = [sample for sample in self.samples[arm] if sample.value is not None]
            latency = average([sample.latency_ms for sample in answered])
            self._costs[arm] = latency, average([sample.cost for sample in answered])
        return self._costs[arm]

    def _quality(self, sample: Sample) -> float | None:
        if sample.value is None:
            return None if self._drops_failures else 0.0
        return sample.value

    def _weigh(self, sample: Sample, costs: Span, latencies: Span) -> float | None:
        quality = self._quality(sample)
        if quality is None:
            return None
        aims = self._objective
        price = 0.0 if self.ignores_price else aims.lambda_cost * costs.place(sample.cost)
        return quality - price - aims.lambda_latency * latencies.place(sample.latency_ms)


def span_of(values: Sequence[float | None]) -> Span:
    known = [value for value in values if value is not None]
    return Span(min(known), max(known)) if known else Span(0.0, 0.0)


def known_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def average(values: Sequence[float | None]) -> float:
    """The mean, or more than any where one is unknown: nothing wins by not being measured."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else float("inf")
