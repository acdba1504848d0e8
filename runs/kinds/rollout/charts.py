"""The pictures of a rollout: steps a second over time, and how returns and lengths are spread.

Places are in percent of a picture, so that plain SVG draws them without a script.
"""

from collections.abc import Sequence
from typing import NamedTuple

from runs import formatting
from runs.kinds.lines import STEPS, Line, line
from runs.kinds.plots import Tick
from runs.kinds.scales import Scale, scale_of
from workers.engine.kinds.rollout.speed import Speed
from workers.engine.statistics.boxes import Box
from workers.engine.statistics.intervals import Estimate

MOST_POINTS = 30  # of a policy, each drawn; of more values only those outside of the box plot


class SpeedRow(NamedTuple):
    """A part of the time, as the data table says it."""

    until: str
    rate: float


class SpeedChart(NamedTuple):
    lines: list[Line]
    told: str  # instead of the picture
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    rows: list[SpeedRow]


class BoxPicture(NamedTuple):
    low: float
    first: float
    median: float
    third: float
    high: float
    points: list[float]
    told: str  # instead of the picture

    @property
    def width(self) -> float:
        return round(self.third - self.first, 2)


class MeanPicture(NamedTuple):
    mean: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return round(self.high - self.low, 2)


def draw_speed(speed: Speed) -> SpeedChart:
    up, parts = scale_of([0.0, *speed.rates]), len(speed.rates)
    # Each point stands in the middle of its part.
    middles = [(2 * place + 1, rate) for place, rate in enumerate(speed.rates)]
    ticks = scale_of([0.0, speed.seconds], ticks=6).ticks
    return SpeedChart(
        lines=[Line(STEPS, line(middles, up, 2 * parts))],
        told=f"Steps a second over time, at most {formatting.rate(max(speed.rates))}; "
        "the data table has all.",
        x_ticks=[
            Tick(round(100 * tick / speed.seconds, 2), formatting.duration(tick))
            for tick in ticks
            if tick <= speed.seconds
        ],
        y_ticks=[Tick(up.place(tick), formatting.count(tick)) for tick in up.ticks],
        rows=[
            SpeedRow(formatting.duration(speed.seconds * (place + 1) / parts), rate)
            for place, rate in enumerate(speed.rates)
        ],
    )


def draw_box(box: Box, scale: Scale, values: Sequence[float] = ()) -> BoxPicture:
    """`values`: of which all are drawn if they are few."""
    points = values if 0 < len(values) <= MOST_POINTS else box.outside
    return BoxPicture(
        low=scale.place(box.low),
        first=scale.place(box.first),
        median=scale.place(box.median),
        third=scale.place(box.third),
        high=scale.place(box.high),
        points=[scale.place(value) for value in points],
        told=f"median {number(box.median)}, half of them from {number(box.first)} to "
        f"{number(box.third)}, all from {number(box.lowest)} to {number(box.highest)}",
    )


def draw_mean(score: Estimate, scale: Scale) -> MeanPicture:
    return MeanPicture(scale.place(score.value), scale.place(score.low), scale.place(score.high))


def ticks_of(scale: Scale) -> list[Tick]:
    return [Tick(scale.place(tick), number(tick)) for tick in scale.ticks]


def number(value: float) -> str:
    """A return: any size is possible."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
