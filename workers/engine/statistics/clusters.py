"""Means of trials that belong together: repeats of one case are not independent answers.

Ten repeats of twenty cases tell no more than twenty answers if a case goes the same way each time,
and as much as two hundred if it does not. What the cases themselves show decides.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple, Self

from workers.engine.statistics.distributions import t_quantile
from workers.engine.statistics.intervals import Estimate, estimate_mean, wilson


class Clusters(NamedTuple):
    """What a database can add up over cases: of each, how many scores it has and their sum."""

    cases: int
    n: int  # scores
    total: float
    total_squares: float  # the sum of the cases' squared sums
    n_squares: float  # the sum of the cases' squared counts
    products: float  # the sum of the cases' counts times sums
    square_total: float  # the sum of the squared scores

    @classmethod
    def of(cls, by_case: Iterable[list[float]]) -> Self:
        groups = [(len(values), math.fsum(values), values) for values in by_case if values]
        return cls(
            cases=len(groups),
            n=sum(n for n, _, _ in groups),
            total=math.fsum(total for _, total, _ in groups),
            total_squares=math.fsum(total * total for _, total, _ in groups),
            n_squares=math.fsum(n * n for n, _, _ in groups),
            products=math.fsum(n * total for n, total, _ in groups),
            square_total=math.fsum(value * value for _, _, values in groups for value in values),
        )


def estimate_clustered(found: Clusters) -> Estimate | None:
    """The mean over all scores, with an interval for cases like these."""
    if found.n == found.cases:
        return estimate_mean(found.n, found.total, found.square_total)
    mean = found.total / found.n
    variance = variance_of_mean(found)
    if is_share(found) or variance == 0.0:
        return Estimate(mean, *wilson(mean, worth_in_answers(found, mean, variance)), found.n)
    half = t_quantile(found.cases - 1) * math.sqrt(variance)
    return Estimate(mean, mean - half, mean + half, found.n)


def estimate_widely(
    n: int, total: float, square_total: float, answers_a_case: float
) -> Estimate | None:
    """From counters alone: as if all answers to a case agreed, so that they count once."""
    cases = max(1, round(n / answers_a_case)) if n else 0
    share = cases / n if n else 0.0
    found = estimate_mean(cases, total * share, square_total * share)
    return found._replace(n=n) if found else None


def is_share(found: Clusters) -> bool:
    """Whether every score is 0 or 1."""
    is_within = 0 <= found.total <= found.n
    return is_within and math.isclose(found.total, found.square_total, abs_tol=1e-9)


def variance_of_mean(found: Clusters) -> float:
    """Of a ratio of sums over cases, as for samples of clusters (Cochran)."""
    if found.cases < 2:
        return 0.0
    mean = found.total / found.n
    squares = found.total_squares - 2 * mean * found.products + mean * mean * found.n_squares
    return max(0.0, squares) * found.cases / (found.cases - 1) / found.n**2


def worth_in_answers(found: Clusters, mean: float, variance: float) -> float:
    """How many independent answers tell as much: at most all of them, at least one a case when they
    agree. Student's t has the few cases count for less, as their variance is uncertain."""
    if variance == 0.0:
        return found.cases
    widening = (t_quantile(found.cases - 1) / t_quantile(10**9)) ** 2
    return min(found.n, mean * (1 - mean) / variance) / widening
