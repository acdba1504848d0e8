"""How well several judges agree, beyond what chance would have them agree on: Krippendorff's alpha.

1 is perfect, 0 is what chance gives, below 0 they disagree systematically. Judges may be missing.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence


def differ(one: float, other: float) -> float:
    """For labels: pass and fail, or classes."""
    return float(one != other)


def distance(one: float, other: float) -> float:
    """For values on a scale."""
    return (one - other) ** 2


def krippendorff_alpha(
    units: Iterable[Sequence[float | None]], metric: Callable[[float, float], float] = distance
) -> float | None:
    """A unit has one value a judge, None where a judge gave none. None: nothing can be compared, or
    all gave the same value everywhere, so that chance cannot be told from agreement."""
    rated = [[value for value in unit if value is not None] for unit in units]
    rated = [values for values in rated if len(values) > 1]
    totals = Counter(value for values in rated for value in values)
    n = sum(totals.values())
    expected = _disagreement(totals, metric) / (n - 1) if n > 1 else 0.0
    if not expected:
        return None
    seen = sum(_disagreement(Counter(values), metric) / (len(values) - 1) for values in rated)
    return 1.0 - seen / expected


def _disagreement(counts: Counter[float], metric: Callable[[float, float], float]) -> float:
    """Over all ordered pairs of values."""
    return sum(
        counts[one] * counts[other] * metric(one, other) for one in counts for other in counts
    )
