"""How much two runs differ over the same cases, and how likely chance alone does that.

One difference a case goes in: trials of one case are not independent of each other, so repeats
and candidates are averaged before.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from workers.engine.statistics.distributions import Z, t_quantile, two_sided

MOST_EXACT = 16  # differences whose 65,536 signs are all tried
MANY = 2000  # beyond, and if no difference outweighs the others, the normal law is close
SMALL = 0.01  # share of all squares that no difference exceeds then
FINEST = 1000  # parts of a score: 0.125, 1/3 and 0.001 are whole multiples of one of them
MOST_STEPS = 1 << 15  # that differences are counted in, all together
MOST_COINS = 1000  # tosses counted exactly
LEVEL = 0.05  # of the 95 % intervals, and of the tests beside them
CLOSE = 1e-9  # differences of floats below this are rounding

SIGN_TEST = "exact sign test (McNemar)"
NORMAL_SIGNS = "sign test (McNemar), normal approximation"
SIGN_FLIPS = "exact sign-flip test"
FINE_FLIPS = "sign-flip test"
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
    p, method = judge_flips(changed)
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


def flip_steps(steps: Sequence[int]) -> float:
    """The same of whole numbers, by the share of ways that come to each sum: of many."""
    import numpy

    total, seen = sum(map(abs, steps)), abs(sum(steps))
    if not seen:
        return 1.0
    share = numpy.zeros(total + 1)  # of ways whose positive ones add up to this
    share[0] = 1.0
    for step in map(abs, steps):
        added = share / 2
        added[step:] += share[: total + 1 - step] / 2
        share = added
    return float(min(1.0, 2 * share[: (total - seen) // 2 + 1].sum()))


def in_steps(changes: Sequence[float]) -> tuple[list[int], bool]:
    """As whole multiples of a small unit, and whether they are just these: scores of few values
    are, as those of repeats."""
    finest = MOST_STEPS / math.fsum(map(abs, changes))
    parts = [Fraction(change).limit_denominator(FINEST) for change in set(changes)]
    unit = math.lcm(*(part.denominator for part in parts))
    if unit <= finest:
        steps = [round(change * unit) for change in changes]
        if all(abs(s / unit - c) < CLOSE for s, c in zip(steps, changes, strict=True)):
            return steps, True
    return [round(change * finest) for change in changes], False


def judge_flips(changes: Sequence[float]) -> tuple[float, str]:
    """The p, and the method's name."""
    if len(changes) <= MOST_EXACT:
        return flip_signs(changes), SIGN_FLIPS
    squares = [change * change for change in changes]
    if len(changes) > MANY and max(squares) < SMALL * math.fsum(squares):
        return approximate_flips(changes), NORMAL_FLIPS
    steps, is_exact = in_steps(changes)
    return flip_steps(steps), SIGN_FLIPS if is_exact else FINE_FLIPS


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
