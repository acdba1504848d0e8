"""What the page of a choice draws: intervals, survivors by round, and what better costs.

Places are in percent of a picture, so that plain SVG draws them without a script.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from runs import formatting
from runs.kinds.lines import STEPS, Line
from runs.kinds.plots import Dot, Plot, Tick, draw_plot
from runs.kinds.scales import Scale, scale_of
from workers.engine.kinds.select.report import SelectionReport
from workers.engine.kinds.select.rows import CombinationRow, RoundRow
from workers.engine.strategies.bayesian import Forecast


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


class AlivePicture(NamedTuple):
    lines: list[Line]  # one, that goes down in steps
    told: str  # instead of the picture
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
    told = (
        f"{combinations} combinations at the start, {alive} after round {len(rounds)}; "
        "the rounds are listed below."
    )
    lines = [Line(STEPS, " ".join(corners))]
    return AlivePicture(lines, told, whole_ticks(across), whole_ticks(up))


def whole_ticks(scale: Scale) -> list[Tick]:
    whole = [tick for tick in scale.ticks if tick == int(tick)]
    return [Tick(scale.place(tick), formatting.count(tick)) for tick in whole]


def draw_plots(rows: Sequence[CombinationRow], prefix: str) -> list[Plot]:
    tried = [row for row in rows if row.n]
    latency = [dot_of(row, row.latency_ms, prefix) for row in tried]
    price = [dot_of(row, row.dollars_per_sample, prefix) for row in tried]
    draw = partial(draw_plot, quality="Accuracy", word="combination")
    return [
        draw("latency", latency, formatting.milliseconds),
        draw("price", price, formatting.dollars),
    ]


def dot_of(row: CombinationRow, cost: float | None, prefix: str) -> Dot:
    return Dot(
        name=row.name,
        short=formatting.without_endpoint(row.name, prefix),
        value=row.accuracy or 0.0,
        low=row.low,
        high=row.high,
        n=row.n,
        cost=cost,
        is_compared=row.saw_most,
        is_best=row.is_best,
    )
