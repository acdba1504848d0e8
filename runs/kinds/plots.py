"""Quality against what is better when lower, with the front of those that nobody beats in both.

Places are in percent of a picture, so that plain SVG draws them without a script.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from runs import formatting
from runs.kinds.scales import Scale, scale_of
from workers.engine.statistics.pareto import Point, front_of

MOST_TITLE = 200  # characters of a name
MOST_BARS = 20  # points with an error bar each; of more, only the front has bars


class Tick(NamedTuple):
    place: float
    text: str

    @property
    def up(self) -> float:
        """From the top, where SVG begins."""
        return round(100 - self.place, 2)


class Dot(NamedTuple):
    """What a plot shows of a candidate."""

    name: str
    short: str  # its name where others like it stand beside it
    value: float
    low: float | None  # of the 95 % interval
    high: float | None
    n: int
    cost: float | None
    is_compared: bool  # whether it saw enough cases to be on the front
    is_best: bool


class PlotPoint(NamedTuple):
    dot: Dot
    x: float
    y: float
    top: float  # of the 95 % interval
    bottom: float
    x_text: str
    is_front: bool

    @property
    def look(self) -> str:
        """The classes of its dot."""
        kind = " plot-point-front" if self.is_front else ""
        few = "" if self.dot.is_compared else " plot-point-few"
        return f"plot-point{kind}{few}{' plot-point-best' if self.dot.is_best else ''}"

    @property
    def radius(self) -> int:
        return 5 if self.is_front else 4

    @property
    def title(self) -> str:
        dot = self.dot
        interval = formatting.score_interval(dot.low, dot.high)
        told = f"{formatting.score(dot.value)} ({interval}), {self.x_text}, n {dot.n:,}"
        return f"{dot.name[:MOST_TITLE]}: {told}"


class FrontLine(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Plot:
    name: str  # of what is better when lower
    quality: str  # what the score is called
    word: str  # for what is drawn, as in `combination`
    points: list[PlotPoint]
    front: list[PlotPoint]  # the lowest first
    lines: list[FrontLine]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    unknown: int  # tried, but not drawn

    @property
    def title(self) -> str:
        return f"{self.quality} and {self.name}"

    @property
    def bars(self) -> list[PlotPoint]:
        return self.points if len(self.points) <= MOST_BARS else self.front

    @property
    def has_some_not_compared(self) -> bool:
        return not all(point.dot.is_compared for point in self.points)

    @property
    def is_without_prices(self) -> bool:
        return not self.points and self.unknown > 0 and self.name != "latency"

    @property
    def summary(self) -> str:
        """What a screen reader says instead of the picture."""
        return (
            f"{self.quality} against {self.name}: {len(self.front)} of {len(self.points)} "
            f"{self.word}s are on the front, listed below; the table has all."
        )


def draw_plot(
    name: str,
    dots: Sequence[Dot],
    write: Callable[[float | None], str],
    *,
    quality: str,
    word: str,
) -> Plot:
    """Of those that were tried. `write` puts a cost into words."""
    known = [(dot, dot.cost) for dot in dots if dot.cost is not None]
    across = scale_of([0.0, *(cost for _, cost in known)], ticks=3)
    up = scale_of(heights([dot for dot, _ in known]))
    front = front_of(
        [Point(dot.value if dot.is_compared else None, cost, None) for dot, cost in known]
    )
    points = [
        plot_point(dot, cost, across, up, write(cost), is_front=place in front)
        for place, (dot, cost) in enumerate(known)
    ]
    line = sorted((point for point in points if point.is_front), key=lambda point: point.x)
    return Plot(
        name=name,
        quality=quality,
        word=word,
        points=sorted(points, key=lambda point: (point.is_front, point.dot.is_compared)),
        front=line,
        lines=[FrontLine(a.x, a.y, b.x, b.y) for a, b in pairwise(line)],
        x_ticks=[Tick(across.place(tick), write(tick)) for tick in across.ticks],
        y_ticks=[Tick(up.place(tick), f"{tick:.3g}") for tick in up.ticks],
        unknown=len(dots) - len(known),
    )


def heights(dots: Sequence[Dot]) -> list[float]:
    """What the scale of values must hold: also the error bars, where all of them are drawn."""
    values = [dot.value for dot in dots]
    if len(dots) > MOST_BARS:
        return values
    ends = [end for dot in dots for end in (dot.low, dot.high) if end is not None]
    return values + ends


def plot_point(
    dot: Dot, cost: float, across: Scale, up: Scale, text: str, *, is_front: bool
) -> PlotPoint:
    return PlotPoint(
        dot=dot,
        x=across.place(cost),
        y=round(100 - up.place(dot.value), 2),
        top=round(100 - up.place(dot.value if dot.high is None else dot.high), 2),
        bottom=round(100 - up.place(dot.value if dot.low is None else dot.low), 2),
        x_text=text,
        is_front=is_front,
    )
