"""By how much a percentile moved between two runs over the same cases, as the slowest answers of
one run with those of another.

The density at a percentile is read from its neighbours (Siddiqui; width by Hall and Sheather), so
that no samples are drawn. What cases did in both runs goes together, as in all our differences.
"""

import math

from workers.engine.statistics.columns import Numbers
from workers.engine.statistics.distributions import NORMAL, Z, t_quantile, two_sided
from workers.engine.statistics.paired import Difference

FEWEST_CASES = 40  # of fewer, one or two answers decide where the last twentieth begins
METHOD = "percentiles of the same cases, normal approximation"


def compare_percentiles(
    before: Numbers,
    cases_before: Numbers,
    after: Numbers,
    cases_after: Numbers,
    share: float = 0.95,
) -> Difference | None:
    """Of values, each with the number of its case. None when there are too few cases."""
    import numpy

    cases, place = numpy.unique(numpy.concatenate([cases_before, cases_after]), return_inverse=True)
    n = len(cases)
    if n < FEWEST_CASES or not len(before) or not len(after):
        return None
    change = float(numpy.quantile(after, share) - numpy.quantile(before, share))
    influence = numpy.bincount(place[len(before) :], influences(after, share), n)
    influence -= numpy.bincount(place[: len(before)], influences(before, share), n)
    spread = math.sqrt(n / (n - 1) * float((influence**2).sum()))
    half = t_quantile(n - 1) * spread
    p = two_sided(abs(change) / spread) if spread else float(change == 0)
    return Difference(change, change - half, change + half, p, METHOD, n)


def influences(values: Numbers, share: float) -> Numbers:
    """How far each value moves the percentile."""
    import numpy

    width = bandwidth(len(values), share)
    low, middle, high = numpy.quantile(values, [share - width, share, share + width])
    influence: Numbers = (share - (values <= middle)) * (high - low) / (2 * width * len(values))
    return influence


def bandwidth(n: int, share: float) -> float:
    """Of Hall and Sheather, kept within the values."""
    z = NORMAL.inv_cdf(share)
    density = NORMAL.pdf(z)
    wanted = n ** (-1 / 3) * Z ** (2 / 3) * (1.5 * density**2 / (2 * z * z + 1)) ** (1 / 3)
    return float(min(wanted, 0.9 * (1 - share), 0.9 * share))
