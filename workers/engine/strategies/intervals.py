"""Means with intervals that have a width even when all samples are equal."""

import math
from collections.abc import Sequence
from typing import NamedTuple

UNKNOWN_DEVIATION = 0.5  # of a value between 0 and 1 about which nothing is known
MADE_UP_PAIRS = 3  # differences of +1 and -1 that are assumed before any is seen


class Interval(NamedTuple):
    mean: float
    half: float
    n: int

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.half:.3f}"


def interval_of(values: Sequence[float], confidence: float) -> Interval:
    """The mean, with `confidence` standard errors on both sides. Without samples: everything."""
    n = len(values)
    if n == 0:
        return Interval(0.0, math.inf, 0)
    mean = math.fsum(values) / n
    return Interval(mean, confidence * deviation_of(values, mean) / math.sqrt(n), n)


def deviation_of(values: Sequence[float], mean: float) -> float:
    """The sample's standard deviation. Equal values leave room for one that is not: two right
    answers are no proof that all will be right."""
    n = len(values)
    if n == 1:
        return UNKNOWN_DEVIATION
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (n - 1)) or UNKNOWN_DEVIATION / math.sqrt(n + 1)


def paired_variance(ours: Sequence[float], theirs: Sequence[float], mean: float) -> float:
    """Of the differences ours - theirs around their mean, with a few made up: as many of +1 as of
    -1. They keep some equal differences from looking certain, and fade as real ones come."""
    squares = math.fsum((a - b - mean) ** 2 for a, b in zip(ours, theirs, strict=True))
    made_up = MADE_UP_PAIRS * ((1 - mean) ** 2 + (1 + mean) ** 2)
    return (squares + made_up) / (len(ours) + 2 * MADE_UP_PAIRS - 1)
