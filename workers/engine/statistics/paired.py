"""How much two runs differ over the same cases, and how likely chance alone does that.

One difference a case goes in: trials of one case are not independent of each other, so repeats
and candidates are averaged before.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from workers.engine.statistics.distributions import Z, t_quantile, two_sided

MOST_EXACT = 16  # differences whose 65,536 signs are all tried; beyond, the normal law is close
MOST_COINS = 1000  # tosses counted exactly
LEVEL = 0.05  # of the 95 % intervals, and of the tests beside them
CLOSE = 1e-9  # differences of floats below this are rounding

SIGN_TEST = "exact sign test (McNemar)"
NORMAL_SIGNS = "sign test (McNemar), normal approximation"
SIGN_FLIPS = "exact sign-flip test"
NORMAL_FLIPS = "sign-flip test, normal approximation"


class Difference(NamedTuple):
    """A mean difference with its 95 % interval, and the two-sided p of "there is none"."""

    mean: float
    low: float
    high: float
    p: float
    method: str
    cases: int

    @property
    def text(self) -> str:
        """-0.0500 (95 % interval -0.081 to -0.019, p = 0.0021, 120 cases, exact sign test)."""
        interval = f"95 % interval {self.low:+.3f} to {self.high:+.3f}"
        return (
            f"{self.mean:+.4f} ({interval}, p = {self.p:.3g}, {self.cases:,} cases, {self.method})"
        )


def estimate_difference(by_case: Sequence[float]) -> Difference | None:
    """None when there is nothing to compare."""
    if not by_case:
        return None
    mean = math.fsum(by_case) / len(by_case)
    changed = [change for change in by_case if abs(change) > CLOSE]
    size = abs(changed[0]) if changed else 1.0
    if all(math.isclose(abs(change), size, abs_tol=CLOSE) for change in changed):
        better = sum(change > 0 for change in changed)
        worse = len(changed) - better
        low, high = bonett_price(better, worse, len(by_case))
        low, high = min(size * low, mean), max(size * high, mean)
        method = SIGN_TEST if len(changed) <= MOST_COINS else NORMAL_SIGNS
        return Difference(mean, low, high, sign_test(better, worse), method, len(by_case))
    half = t_half_width(by_case, mean)
    is_exact = len(changed) <= MOST_EXACT
    p = flip_signs(changed) if is_exact else approximate_flips(changed)
    method = SIGN_FLIPS if is_exact else NORMAL_FLIPS
    return Difference(mean, mean - half, mean + half, p, method, len(by_case))


def in_agreement(found: Difference) -> Difference:
    """With an interval that says what the test says: near p = 0.05 the two methods may disagree,
    and an interval without 0 beside "not shown to be better" is read as a contradiction. The more
    cautious one holds, so the interval is widened to 0 and never made narrower."""
    if found.p < LEVEL:
        return found
    return found._replace(low=min(found.low, 0.0), high=max(found.high, 0.0))


def sign_test(better: int, worse: int) -> float:
    """Two-sided: as uneven a split or more, if each went either way by a coin. For right and
    wrong answers this is McNemar's exact test."""
    n = better + worse
    if not n:
        return 1.0
    if n > MOST_COINS:
        return two_sided((abs(better - worse) - 1) / math.sqrt(n))
    fewer = min(better, worse)
    tail = sum(math.comb(n, k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << n))


def flip_signs(changes: Sequence[float]) -> float:
    """The share of all ways to sign the differences whose sum is as far from 0, or farther."""
    sums = [0.0]
    for change in changes:
        sums = [total + signed for total in sums for signed in (change, -change)]
    seen = abs(math.fsum(changes)) - CLOSE * len(changes)
    return sum(abs(total) >= seen for total in sums) / len(sums)


def approximate_flips(changes: Sequence[float]) -> float:
    spread = math.sqrt(math.fsum(change * change for change in changes))
    return two_sided(abs(math.fsum(changes)) / spread)


def bonett_price(better: int, worse: int, n: int) -> tuple[float, float]:
    """The interval of a difference of paired shares. Has a width even when nothing changed."""
    up, down = (better + 1) / (n + 2), (worse + 1) / (n + 2)
    centre = up - down
    half = Z * math.sqrt((up + down - centre * centre) / (n + 2))
    return max(-1.0, centre - half), min(1.0, centre + half)


def t_half_width(changes: Sequence[float], mean: float) -> float:
    n = len(changes)
    if n < 2:
        return math.inf
    variance = math.fsum((change - mean) ** 2 for change in changes) / (n - 1)
    return t_quantile(n - 1) * math.sqrt(variance / n)
