"""Intervals that assume no law: cases are drawn again and again, each time for another mean."""

from collections.abc import Sequence

from workers.engine.statistics.intervals import Estimate

DRAWS = 2000
AT_ONCE = 2_000_000  # numbers drawn in one go, so that many cases need little memory


def bootstrap_mean(by_case: Sequence[Sequence[float]], seed: int = 0) -> Estimate | None:
    """Of all scores. Cases are drawn with all their repeats; a seed gives the same interval."""
    groups = [values for values in by_case if values]
    if not groups:
        return None
    return bootstrap_sums([sum(values) for values in groups], list(map(len, groups)), seed)


def bootstrap_sums(totals: Sequence[float], scores: Sequence[int], seed: int = 0) -> Estimate:
    """The same from the sum and the number of scores of each case; there is at least one."""
    import numpy  # 25 MB and 0.3 s, which no process pays that draws nothing

    sums, counts = numpy.array(totals, dtype=float), numpy.array(scores, dtype=float)
    cases, random = len(sums), numpy.random.default_rng(seed)
    means: list[float] = []
    while len(means) < DRAWS:
        rows = min(DRAWS - len(means), max(1, AT_ONCE // cases))
        drawn = random.integers(0, cases, size=(rows, cases))
        means.extend(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1))
    low, high = numpy.quantile(means, [0.025, 0.975])
    return Estimate(float(sums.sum() / counts.sum()), float(low), float(high), int(counts.sum()))
