"""What the page of a choice draws: intervals, survivors by round, and what better costs.

Places are in percent of a picture, so that plain SVG draws them without a script.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from runs import formatting
from runs.kinds.select.scales import Scale, scale_of
from workers.engine.kinds.select.report import SelectionReport
from workers.engine.kinds.select.rows import CombinationRow, RoundRow
from workers.engine.statistics.pareto import Point, front_of
from workers.engine.strategies.bayesian import Forecast

MOST_TITLE = 200  # characters of a name


class Tick(NamedTuple):
    place: float
    text: str

    @property
    def up(self) -> float:
        """From the top, where SVG begins."""
        return round(100 - self.place, 2)


class ArmPicture(NamedTuple):
    """One line of the intervals: None where the combination was not tried, and nothing is expected
    of it."""

    row: CombinationRow
    dot: float | None
    left: float | None
    width: float | None
    forecast: Forecast | None = None  # of one that was not tried: then the picture is of that
    is_next: bool = False  # it promises most


@dataclass(frozen=True)
class ArmsPicture:
    arms: list[ArmPicture]
    ticks: list[Tick]
    line: float | None  # where who is wholly below it leaves
    line_value: float | None


class PlotPoint(NamedTuple):
    row: CombinationRow
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
        few = "" if self.row.saw_most else " plot-point-few"
        return f"plot-point{kind}{few}{' plot-point-best' if self.row.is_best else ''}"

    @property
    def radius(self) -> int:
        return 5 if self.is_front else 4

    @property
    def title(self) -> str:
        row = self.row
        interval = formatting.score_interval(row.low, row.high)
        told = f"{formatting.score(row.accuracy)} ({interval}), {self.x_text}, n {row.n:,}"
        return f"{row.name[:MOST_TITLE]}: {told}"


class FrontLine(NamedTuple):
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Plot:
    """Accuracy against what is better when lower."""

    name: str
    points: list[PlotPoint]
    front: list[PlotPoint]  # the lowest first
    lines: list[FrontLine]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    unknown: int  # tried, but not drawn

    @property
    def summary(self) -> str:
        """What a screen reader says instead of the picture."""
        return (
            f"Accuracy against {self.name}: {len(self.front)} of {len(self.points)} combinations "
            "are on the front, listed below; the table has all."
        )


class AlivePicture(NamedTuple):
    path: str  # of a step line
    x_ticks: list[Tick]
    y_ticks: list[Tick]


def by_upper_bound(
    rows: Sequence[CombinationRow], forecasts: Mapping[int, Forecast]
) -> list[CombinationRow]:
    """Who is left first: what was given up long ago has wide intervals that reach far up. Of the
    untried those that promise most."""
    promise = {place: forecast.improvement for place, forecast in forecasts.items()}
    return sorted(
        rows,
        key=lambda row: (
            row.n == 0,
            row.eliminated_in is not None,
            -finite_high(row) if row.n else -promise.get(row.place, 0.0),
        ),
    )


def finite_high(row: CombinationRow) -> float:
    return row.bounds.high if math.isfinite(row.bounds.high) else -math.inf


def draw_arms(report: SelectionReport, shown: Sequence[CombinationRow]) -> ArmsPicture:
    """The scale is that of all, so that it stays when some are looked for."""
    known = [row.bounds for row in report.rows if row.bounds.n]
    expected = report.forecasts
    edges = [edge for bounds in known for edge in (bounds.low, bounds.high)]
    edges += [f.mean + sign * f.deviation for f in expected.values() for sign in (-1, 1)]
    scale = scale_of(edges, ticks=5)
    first = min(expected, key=lambda place: (-expected[place].improvement, place), default=None)
    alive = [row.bounds.low for row in report.rows if row.bounds.n and row.eliminated_in is None]
    line = report.threshold if report.threshold is not None else max(alive, default=None)
    return ArmsPicture(
        [draw_arm(row, scale, expected.get(row.place), first) for row in shown],
        [Tick(scale.place(tick), f"{tick:.2g}") for tick in scale.ticks],
        None if line is None else scale.place(line),
        line,
    )


def draw_arm(
    row: CombinationRow, scale: Scale, forecast: Forecast | None, first: int | None
) -> ArmPicture:
    if row.bounds.n:
        mean, low, high = row.bounds.mean, row.bounds.low, row.bounds.high
        forecast = None
    elif forecast:
        mean, half = forecast.mean, forecast.deviation
        low, high = mean - half, mean + half
    else:
        return ArmPicture(row, None, None, None)
    left, right = scale.place(low), scale.place(high)
    width = round(max(right - left, 0.5), 2)
    return ArmPicture(row, scale.place(mean), left, width, forecast, row.place == first)


def draw_alive(rounds: Sequence[RoundRow], combinations: int) -> AlivePicture:
    """After each round. Only where the number changes there is a corner: rounds may be many."""
    across, up = scale_of([0, max(len(rounds), 1)]), scale_of([0, combinations])
    corners, alive = [f"M0 {100 - up.place(combinations)}"], combinations
    for record in rounds:
        if record.alive != alive:
            alive = record.alive
            corners.append(f"H{across.place(record.number)} V{round(100 - up.place(alive), 2)}")
    corners.append(f"H{across.place(len(rounds))}")
    return AlivePicture(" ".join(corners), whole_ticks(across), whole_ticks(up))


def whole_ticks(scale: Scale) -> list[Tick]:
    whole = [tick for tick in scale.ticks if tick == int(tick)]
    return [Tick(scale.place(tick), formatting.count(tick)) for tick in whole]


def draw_plots(rows: Sequence[CombinationRow]) -> list[Plot]:
    return [
        draw_plot("latency", rows, lambda row: row.latency_ms, formatting.milliseconds),
        draw_plot("price", rows, lambda row: row.dollars_per_sample, formatting.dollars),
    ]


def draw_plot(
    name: str,
    rows: Sequence[CombinationRow],
    cost_of: Callable[[CombinationRow], float | None],
    write: Callable[[float | None], str],
) -> Plot:
    tried = [row for row in rows if row.n]
    costs = [(row, cost) for row in tried if (cost := cost_of(row)) is not None]
    across = scale_of([0.0, *(cost for _, cost in costs)], ticks=3)
    up = scale_of([row.accuracy or 0.0 for row, _ in costs])
    front = front_of(
        [Point(row.accuracy if row.saw_most else None, cost, None) for row, cost in costs]
    )
    points = [
        plot_point(row, cost, across, up, write(cost), is_front=place in front)
        for place, (row, cost) in enumerate(costs)
    ]
    line = sorted((point for point in points if point.is_front), key=lambda point: point.x)
    return Plot(
        name=name,
        points=sorted(points, key=lambda point: (point.is_front, point.row.saw_most)),
        front=line,
        lines=[FrontLine(a.x, a.y, b.x, b.y) for a, b in pairwise(line)],
        x_ticks=[Tick(across.place(tick), write(tick)) for tick in across.ticks],
        y_ticks=[Tick(up.place(tick), f"{tick:.3g}") for tick in up.ticks],
        unknown=len(tried) - len(costs),
    )


def plot_point(
    row: CombinationRow, cost: float, across: Scale, up: Scale, text: str, *, is_front: bool
) -> PlotPoint:
    accuracy = row.accuracy or 0.0
    return PlotPoint(
        row=row,
        x=across.place(cost),
        y=round(100 - up.place(accuracy), 2),
        top=round(100 - up.place(accuracy if row.high is None else row.high), 2),
        bottom=round(100 - up.place(accuracy if row.low is None else row.low), 2),
        x_text=text,
        is_front=is_front,
    )
