"""Which of several candidates nobody beats in everything: better, faster and cheaper at once.

A value may be unknown. Two points are then compared where both are known, and only a point that
knows all that the other knows can dominate it: what might be dearer pushes nobody out. This keeps
the relation transitive, so that somebody is always left.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Point(NamedTuple):
    quality: float | None  # higher is better; None: there is nothing to say for it
    latency: float | None  # lower is better
    price: float | None  # lower is better

    @property
    def costs(self) -> tuple[float | None, ...]:
        """All three so that lower is better."""
        return (None if self.quality is None else -self.quality, self.latency, self.price)


def dominates(one: Point, other: Point) -> bool:
    """As good wherever the other is known, and better somewhere."""
    is_better = False
    for mine, theirs in zip(one.costs, other.costs, strict=True):
        if theirs is None:
            continue
        if mine is None or mine > theirs:
            return False
        is_better = is_better or mine < theirs
    return is_better


def front_of(points: Sequence[Point]) -> list[int]:
    """The places of the points that are not dominated, in the order given; equal ones all stay.
    A point without quality is never among them."""
    front: list[int] = []
    for place in sorted(range(len(points)), key=lambda place: dominators_first(points[place])):
        point = points[place]
        if point.quality is not None and not any(dominates(points[i], point) for i in front):
            front.append(place)
    return sorted(front)


def dominators_first(point: Point) -> tuple[float, ...]:
    """Whoever dominates a point comes before it, so that it is enough to look at the front."""
    unknown = sum(cost is None for cost in point.costs)
    return (unknown, *(float("inf") if cost is None else cost for cost in point.costs))
