"""Which candidates are worse than the best, beyond chance, over the cases that both were asked.

Two intervals may overlap although one candidate is better on nearly every case: the same cases are
hard for both. So the differences of each case are tested. The best is chosen by the same scores: of
many equal candidates one is always first, and far before the last. So a difference has to be larger
than chance makes the largest one of all pairs (Tukey's range).
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from workers.engine.statistics.distributions import (
    NORMAL,
    deviate_of_pairs,
    largest_of_pairs,
)
from workers.engine.statistics.paired import Difference, estimate_difference

LEVEL = 0.05  # how often chance alone may separate any of the candidates
POWER = 0.8  # how surely the cases that are asked for show a difference like the one seen
Key = TypeVar("Key", bound=Hashable)
Case = TypeVar("Case", bound=Hashable)


class Separation(NamedTuple):
    """Of a candidate from the best: the differences are the best's less its own."""

    difference: Difference | None  # None: no case was scored for both
    p: float  # corrected for the number of candidates
    cases_needed: int | None  # in all, to separate a difference like this; None: it cannot be said

    @property
    def is_separable(self) -> bool:
        return self.p < LEVEL

    @property
    def is_behind(self) -> bool:
        """Worse than the best, beyond chance."""
        return self.is_separable and self.difference is not None and self.difference.mean > 0

    @property
    def more_cases(self) -> int | None:
        """About how many more would separate it. None: it is separable, or it cannot be said."""
        if self.is_separable or self.difference is None or self.cases_needed is None:
            return None
        more = self.cases_needed - self.difference.cases
        return more if more > 0 else None


def separate(
    best: Mapping[Case, float], others: Mapping[Key, Mapping[Case, float]]
) -> dict[Key, Separation]:
    """Values are means by case, so that repeats of a case count once."""
    differences = {key: [best[c] - own[c] for c in own if c in best] for key, own in others.items()}
    found = {key: estimate_difference(by_case) for key, by_case in differences.items()}
    many = 1 + sum(each is not None for each in found.values())
    return {
        key: Separation(
            each,
            largest_of_pairs(each.p, many) if each else 1.0,
            cases_needed(differences[key], many),
        )
        for key, each in found.items()
    }


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p times the number of those that are no smaller; never below one before it."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        corrected[place] = largest
    return corrected


def cases_needed(by_case: Sequence[float], many: int = 2) -> int | None:
    """How many show a difference of this size and spread among so many candidates, at 95 % and
    with a power of 80 %."""
    n = len(by_case)
    mean = math.fsum(by_case) / n if n else 0.0
    if n < 2 or mean == 0.0:
        return None
    variance = math.fsum((value - mean) ** 2 for value in by_case) / (n - 1)
    wanted = (deviate_of_pairs(many, LEVEL) + NORMAL.inv_cdf(POWER)) ** 2 * variance / mean**2
    return max(2, math.ceil(wanted)) if math.isfinite(wanted) else None
