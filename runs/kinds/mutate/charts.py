"""The pictures of a mutation over its updates: reward with its band, and what training looks like.

Places are in percent of a picture, so that plain SVG draws them without a script.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from runs import formatting
from runs.kinds.lines import STEPS, Line, Points, area, line, round_ticks
from runs.kinds.plots import Tick
from runs.kinds.scales import Scale, scale_of
from workers.engine.kinds.mutate.report import OperatorRow, UpdateRow
from workers.engine.statistics.intervals import Estimate

MOST_POINTS = 300  # of a line: about as many as a chart has pixels to show them
SMOOTHING = 1 / 3  # of the newest value in the smoothed line: about five updates count
SHARES = Scale((0.0, 1.0))


class RewardChart(NamedTuple):
    lines: list[Line]  # the band is from the tenth to the ninetieth of a hundred segments
    told: str  # instead of the picture
    x_ticks: list[Tick]
    y_ticks: list[Tick]


class SmallChart(NamedTuple):
    """One of several beside each other."""

    title: str
    about: str
    now: str  # the newest value
    lines: list[Line]
    x_ticks: list[Tick]
    y_ticks: list[Tick]

    @property
    def told(self) -> str:
        """Instead of the picture."""
        return f"{self.title}, {self.about}: now {self.now}; the data table has all."


class OperatorLine(NamedTuple):
    """An operator with its reward, in percent of a picture, and its share over the updates."""

    row: OperatorRow
    reward: float | None
    low: float | None
    width: float | None
    shares: str
    first: float
    now: float


SMALL: dict[str, tuple[str, str, Callable[[UpdateRow], float | None]]] = {
    "success": ("Success rate", "steps above the threshold", lambda row: row.success_rate),
    "entropy": ("Entropy", "how undecided the policy is", lambda row: row.entropy),
    "kl": ("KL divergence", "how far an update moved it", lambda row: row.kl),
    "policy_loss": ("Policy loss", "of the last pass", lambda row: row.policy_loss),
    "value_loss": ("Value loss", "of the critic", lambda row: row.value_loss),
}


def draw_reward(rows: Sequence[UpdateRow]) -> RewardChart:
    last = last_of(rows)
    raw = thinned([(row.update - 1, row.reward) for row in rows])
    low = thinned([(row.update - 1, row.low) for row in rows], min)
    high = thinned([(row.update - 1, row.high) for row in rows], max)
    scale = scale_of([value for _, value in (*raw, *low, *high) if value is not None] or [0, 1])
    return RewardChart(
        lines=[
            Line("mutation-band", area(high, low, scale, last)),
            Line("mutation-raw", line(raw, scale, last)),
            Line(STEPS, line(thinned(smoothed(rows)), scale, last)),
        ],
        told=f"Mean reward {formatting.score(rows[-1].reward)} in update {rows[-1].update}; "
        "the data table has all.",
        x_ticks=round_ticks(last),
        y_ticks=[Tick(scale.place(tick), f"{tick:.2g}") for tick in scale.ticks],
    )


def last_of(rows: Sequence[UpdateRow]) -> int:
    return max(1, rows[-1].update - 1) if rows else 1


def smoothed(rows: Sequence[UpdateRow]) -> Points:
    """An exponential moving average, so that a line can be seen where single updates jump."""
    found: list[tuple[int, float | None]] = []
    mean: float | None = None
    for row in rows:
        if row.reward is None:
            continue
        mean = row.reward if mean is None else mean + SMOOTHING * (row.reward - mean)
        found.append((row.update - 1, mean))
    return found


def mean_of(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def thinned(points: Points, join: Callable[[Sequence[float]], float] = mean_of) -> Points:
    """Neighbours joined to one point each where there are more than a picture can show."""
    size = -(-len(points) // MOST_POINTS)
    if size <= 1:
        return points
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    known = [(group[0][0], [v for _, v in group if v is not None]) for group in groups]
    return [(number, join(values) if values else None) for number, values in known]


def draw_small(rows: Sequence[UpdateRow], at_once: int) -> list[SmallChart]:
    """Only those that the strategy has."""
    found = []
    occupancy = ("Occupancy", f"of {at_once:,} calls at once", occupancy_of(at_once))
    for title, about, read in (*SMALL.values(), occupancy):
        points = [(row.update - 1, read(row)) for row in rows]
        values = [value for _, value in points if value is not None]
        if values:
            found.append(small_chart(title, about, points, values, last_of(rows)))
    return found


def occupancy_of(at_once: int) -> Callable[[UpdateRow], float | None]:
    return lambda row: None if row.in_flight is None else row.in_flight / at_once


def small_chart(
    title: str, about: str, points: Points, values: Sequence[float], last: int
) -> SmallChart:
    scale = scale_of(values, ticks=2)
    return SmallChart(
        title=title,
        about=about,
        now=formatting.digits(values[-1]),
        lines=[Line(STEPS, line(thinned(points), scale, last))],
        x_ticks=[Tick(0.0, "1"), Tick(100.0, str(last + 1))],
        y_ticks=[Tick(scale.place(tick), formatting.digits(tick)) for tick in scale.ticks],
    )


def draw_operators(
    operators: Sequence[OperatorRow], updates: Sequence[UpdateRow]
) -> list[OperatorLine]:
    """The best first; their shares on one scale."""
    most = max((share for one in updates for share in one.operators.values()), default=1.0)
    scale = Scale((0.0, most or 1.0))
    ordered = sorted(operators, key=lambda row: -(row.reward.value if row.reward else -1.0))
    return [draw_operator(row, updates, scale) for row in ordered]


def draw_operator(row: OperatorRow, updates: Sequence[UpdateRow], scale: Scale) -> OperatorLine:
    shares = [(one.update - 1, one.operators.get(row.operator, 0.0)) for one in updates]
    ground = [(number, 0.0) for number, _ in shares]
    last = last_of(updates)
    reward = row.reward or Estimate(0.0, 0.0, 0.0, 0)
    low, high = SHARES.place(reward.low), SHARES.place(reward.high)
    return OperatorLine(
        row=row,
        reward=SHARES.place(reward.value) if row.reward else None,
        low=low if row.reward else None,
        width=round(high - low, 2) if row.reward else None,
        shares=area(thinned(shares), thinned(ground), scale, last),
        first=shares[0][1] if shares else 0.0,
        now=shares[-1][1] if shares else 0.0,
    )
