"""Two pictures of a comparison with one side: its scores against the base's, case by case, and how
they are spread around no difference."""

from typing import NamedTuple

from runs import formatting
from runs.selectors.comparing.rows import Grid, value_changes
from workers.engine.statistics.columns import Numbers
from workers.engine.statistics.paired import CLOSE

STEPS = 10  # of a scale from the lowest to the highest score; dots of a square are one
SMALLEST, LARGEST = 3.0, 15.0  # radius, in pixels
PAIR = "pair"  # the same case of the same candidate in both; several candidates share a case
BARS = 21  # an odd number: the middle one is about no difference


class Dot(NamedTuple):
    x: float  # percent from the left
    y: float  # percent from the top
    radius: float
    look: str  # better, worse or same
    cases: int
    before: float
    after: float

    @property
    def size(self) -> float:
        """Of a square as wide as the dot."""
        return round(2 * self.radius, 1)

    @property
    def title(self) -> str:
        cases = formatting.counted(self.cases, PAIR)
        return f"{cases}: {self.before:.2f} in the base, {self.after:.2f} here"


class Bar(NamedTuple):
    x: float
    width: float
    y: float
    height: float
    look: str
    cases: int
    low: float
    high: float

    @property
    def title(self) -> str:
        return f"{formatting.counted(self.cases, PAIR)}: {self.range_text}"

    @property
    def range_text(self) -> str:
        return f"{formatting.signed(self.low)} to {formatting.signed(self.high)}"


class Tick(NamedTuple):
    place: float
    text: str

    @property
    def up(self) -> float:
        return 100 - self.place


class Charts(NamedTuple):
    cases: int
    better: int
    worse: int
    same: int
    dots: list[Dot]
    bars: list[Bar]
    ticks: list[Tick]  # of the dots, both ways
    bar_ticks: list[Tick]
    most: int  # cases of the highest bar

    @property
    def dots_summary(self) -> str:
        return (
            f"{formatting.counted(self.cases, PAIR)}: {self.better:,} score higher than in the "
            f"base, {self.worse:,} lower, {self.same:,} the same."
        )

    @property
    def bars_summary(self) -> str:
        highest = max(self.bars, key=lambda bar: bar.cases, default=None)
        if highest is None:
            return "Nothing was scored in both."
        share = f"{highest.cases:,} of {formatting.counted(self.cases, PAIR)}"
        return f"Most changed by {highest.range_text} ({share})."


def draw(grid: Grid, number: int) -> Charts:
    """With the side in this column."""
    import numpy

    base, other = grid.columns[0], grid.columns[number]
    change = value_changes(base, other)
    both = ~numpy.isnan(change)
    before, after = (column.values(column.cells.value)[both] for column in (base, other))
    change = change[both]
    values = numpy.concatenate([before, after, [0.0, 1.0]])
    low, high = float(values.min()), float(values.max())
    better, worse = int((change > CLOSE).sum()), int((change < -CLOSE).sum())
    widest = float(numpy.abs(change).max(initial=0.0)) or 1.0
    bars = draw_bars(change, widest)
    return Charts(
        cases=len(change),
        better=better,
        worse=worse,
        same=len(change) - better - worse,
        dots=draw_dots(before, after, low, high),
        bars=bars,
        ticks=[Tick(100 * part / 4, f"{low + (high - low) * part / 4:.2f}") for part in range(5)],
        bar_ticks=[
            Tick(0, formatting.signed(-widest)),
            Tick(50, "0"),
            Tick(100, formatting.signed(widest)),
        ],
        most=max((bar.cases for bar in bars), default=0),
    )


def draw_dots(before: Numbers, after: Numbers, low: float, high: float) -> list[Dot]:
    """Cases with nearly the same scores are one dot, whose area says how many they are."""
    import numpy

    span = (high - low) or 1.0
    x, y = (numpy.rint((v - low) / span * STEPS).astype(int) for v in (before, after))
    squares, count = numpy.unique(x * (STEPS + 1) + y, return_counts=True)
    most = max(count.tolist(), default=1)
    dots = []
    for square, n in zip(squares.tolist(), count.tolist(), strict=True):
        across, up = divmod(square, STEPS + 1)
        radius = max(SMALLEST, LARGEST * (n / most) ** 0.5)
        look = "better" if up > across else "worse" if up < across else "same"
        at = [low + span * step / STEPS for step in (across, up)]
        place = (100 * across / STEPS, 100 - 100 * up / STEPS)
        dots.append(Dot(*place, round(radius, 1), look, n, *at))
    return dots


def draw_bars(change: Numbers, widest: float) -> list[Bar]:
    import numpy

    counts, edges = numpy.histogram(change, bins=BARS, range=(-widest, widest))
    most = max(1, int(counts.max(initial=0)))
    width = 100 / BARS
    bars = []
    for place, count in enumerate(counts.tolist()):
        if not count:
            continue
        look = "worse" if place < BARS // 2 else "better" if place > BARS // 2 else "same"
        height = max(1.0, 100 * count / most)
        bars.append(
            Bar(
                x=round(place * width, 2),
                width=round(width, 2),
                y=round(100 - height, 2),
                height=round(height, 2),
                look=look,
                cases=count,
                low=float(edges[place]),
                high=float(edges[place + 1]),
            )
        )
    return bars
