"""Lines over the rounds of a run, for pictures of 100 by 100 that plain SVG draws."""

from collections.abc import Sequence
from typing import NamedTuple

from runs.kinds.plots import Tick
from runs.kinds.scales import Scale

MOST_TICKS = 8
STEPS = "plot-steps"  # how the line looks that a picture is about
Points = Sequence[tuple[int, float | None]]  # the number of a round, from 0, with its value


class Line(NamedTuple):
    """As parts/line_picture.html draws it."""

    look: str  # its class
    path: str  # in a picture of 100 by 100


def places(points: Points, scale: Scale, last: int) -> list[tuple[float, float]]:
    """`last` is the number of the last round."""
    return [
        (round(100 * number / last, 2), round(100 - scale.place(value), 2))
        for number, value in points
        if value is not None
    ]


def line(points: Points, scale: Scale, last: int) -> str:
    """One point alone is a dot, where the stroke ends round."""
    found = places(points, scale, last)
    if not found:
        return ""
    return "M" + " L".join(f"{x} {y}" for x, y in found) + (" h0" if len(found) == 1 else "")


def area(upper: Points, lower: Points, scale: Scale, last: int) -> str:
    outline = [*places(upper, scale, last), *reversed(places(lower, scale, last))]
    return "M" + " L".join(f"{x} {y}" for x, y in outline) + " Z" if outline else ""


def step_of(last: int) -> int:
    """Rounds between two ticks."""
    return max(1, -(-last // MOST_TICKS))


def round_ticks(last: int) -> list[Tick]:
    """People count from 1."""
    step = step_of(last)
    return [Tick(round(100 * n / last, 2), str(n + 1)) for n in range(0, last + 1, step)]
