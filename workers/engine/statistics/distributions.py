"""Quantiles and tails of the normal law and of Student's t, as exact as floats allow.

Student's distribution function has a finite sum for whole degrees of freedom, so that no library of
a hundred megabytes is needed for one quantile.
"""

import math
from functools import lru_cache
from statistics import NormalDist

NORMAL = NormalDist()
Z = NORMAL.inv_cdf(0.975)  # of a 95 % interval
MOST_TERMS = 300  # degrees of freedom beyond which the series in 1 / freedom is as exact
STEPS = 60
FAR = 8.0  # beyond it there is nothing of the normal law
RANGE_STEPS = 400
ALIKE = 1e-7  # below it the chance of some pair is the sum of those of all pairs


def two_sided(z: float) -> float:
    """How likely a normal deviate is as far from 0, or farther."""
    return min(1.0, math.erfc(max(0.0, z) / math.sqrt(2)))


def largest_of_pairs(p: float, many: int) -> float:
    """How likely chance makes some pair of so many equal things differ as much as one pair does
    with this p: the law of the range of normal deviates, as in Tukey's test."""
    each_pair = math.comb(many, 2) * p
    if many < 3 or each_pair < ALIKE:
        return min(1.0, each_pair)
    width = -NORMAL.inv_cdf(p / 2) * math.sqrt(2)
    start, step = -FAR, (2 * FAR + width) / RANGE_STEPS
    within = math.fsum(
        (2 if place % 2 == 0 else 4)
        * NORMAL.pdf(start + place * step)
        * (_below(start + place * step) - _below(start + place * step - width)) ** (many - 1)
        for place in range(1, RANGE_STEPS)
    )
    return min(1.0, each_pair, max(0.0, 1.0 - many * within * step / 3))


@lru_cache(maxsize=1024)
def deviate_of_pairs(many: int, level: float) -> float:
    """From which on the difference of a pair is more than chance makes of some pair."""
    low, high = 0.0, FAR
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_common = largest_of_pairs(two_sided(middle), many) > level
        low, high = (middle, high) if is_common else (low, middle)
    return low


def _below(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


@lru_cache(maxsize=1024)
def t_quantile(freedom: int, level: float = 0.95) -> float:
    """The deviate that the middle `level` of Student's t lies within."""
    if freedom > MOST_TERMS:
        return _t_series(freedom, NORMAL.inv_cdf((1 + level) / 2))
    low, high = 0.0, math.pi / 2  # the angle whose tangent is t / sqrt(freedom)
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_within(middle, freedom) < level else (low, middle)
    return math.tan((low + high) / 2) * math.sqrt(freedom)


def _t_within(angle: float, freedom: int) -> float:
    """The share between -t and t (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = 0.0
    for k in range(2 if is_odd else 1, freedom, 2):
        total += term
        term *= cosine * cosine * k / (k + 1)
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


def _t_series(freedom: int, z: float) -> float:
    """Cornish and Fisher's."""
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return math.fsum(term / math.pow(freedom, power) for power, term in enumerate(terms))
