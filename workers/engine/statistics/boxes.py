"""How values are spread, as a box plot shows it: Tukey's, with whiskers of 1.5 boxes at most."""

from collections.abc import Sequence
from statistics import quantiles
from typing import NamedTuple

REACH = 1.5  # boxes that a whisker may be long; what lies farther out is drawn alone
MOST_OUTSIDE = 20  # of these, the farthest ones of each side share; the lowest and highest stay


class Box(NamedTuple):
    n: int
    lowest: float
    low: float  # the end of the whisker
    first: float  # a quarter is below
    median: float
    third: float
    high: float
    highest: float
    outside: tuple[float, ...]  # beyond the whiskers, as many as can be told apart


def box_of(values: Sequence[float]) -> Box | None:
    """None: there are no values."""
    if not values:
        return None
    ordered = sorted(values)
    if len(ordered) == 1:
        first = median = third = ordered[0]
    else:
        first, median, third = quantiles(ordered, n=4, method="inclusive")
    reach = REACH * (third - first)
    inside = [value for value in ordered if first - reach <= value <= third + reach]
    low, high = min(inside[0], first), max(inside[-1], third)
    below = [value for value in ordered if value < low]
    above = [value for value in ordered if value > high]
    outside = (*some(below), *some(above))
    return Box(len(ordered), ordered[0], low, first, median, third, high, ordered[-1], outside)


def some(ordered: Sequence[float]) -> Sequence[float]:
    """At equal distances from the first to the last, each value once."""
    each = sorted(set(ordered))
    most = MOST_OUTSIDE // 2
    if len(each) <= most:
        return each
    return [each[round(place * (len(each) - 1) / (most - 1))] for place in range(most)]
