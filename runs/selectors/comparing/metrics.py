"""What two sides are compared by: score, failures, cost and the slowest answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from runs import formatting
from workers.engine.statistics.clusters import Clusters, estimate_clustered
from workers.engine.statistics.columns import CASES, Cells, Columns, Numbers, mean_by
from workers.engine.statistics.comparing import (
    Comparison,
    difference_of,
    shared_cells,
)
from workers.engine.statistics.intervals import Estimate
from workers.engine.statistics.paired import CLOSE, Difference
from workers.engine.statistics.percentiles import compare_percentiles
from workers.engine.statistics.separating import LEVEL

SLOWEST = 0.95
THOUSAND = 1000


@dataclass(frozen=True)
class Measure:
    """One thing that is compared, and how it is written."""

    name: str
    title: str
    write: Callable[[float | None], str]
    is_lower_better: bool = True

    def signed(self, change: float) -> str:
        return f"{'+' if change >= 0 else '−'}{self.write(abs(change))}"


SCORE = Measure("score", "Score", formatting.score, is_lower_better=False)
ERRORS = Measure("error_share", "Error share", formatting.percent)
COST = Measure("cost_per_thousand", "Cost per 1,000 answers", formatting.dollars)
LATENCY = Measure("latency_p95", "Latency, p95", formatting.milliseconds)
MEASURES = (SCORE, ERRORS, COST, LATENCY)


class Tally(NamedTuple):
    """Cases in which the other side has a better value, a worse one, or the same."""

    wins: int
    losses: int
    ties: int


@dataclass(frozen=True)
class MeasuredChange:
    """`p` is corrected for the number of sides that are compared with the base."""

    measure: Measure
    base: float | None
    value: float | None
    difference: Difference | None
    p: float | None
    tally: Tally | None  # None: it is no mean over cases

    @property
    def is_clear(self) -> bool:
        """Whether it is more than chance: the interval leaves 0 out, also after the correction."""
        found = self.difference
        if found is None or self.p is None:
            return False
        return (found.low > 0 or found.high < 0) and self.p < LEVEL

    @property
    def is_better(self) -> bool:
        found = self.difference
        return found is not None and (found.mean < 0) == self.measure.is_lower_better

    @property
    def word(self) -> str:
        if self.difference is None:
            return "cannot be compared"
        if not self.is_clear:
            return "no clear difference"
        return "better" if self.is_better else "worse"

    @property
    def change_text(self) -> str:
        return self.measure.signed(self.difference.mean) if self.difference else formatting.NOTHING

    @property
    def interval_text(self) -> str:
        if self.difference is None:
            return formatting.NOTHING
        low, high = self.difference.low, self.difference.high
        return f"{self.measure.signed(low)} to {self.measure.signed(high)}"

    @property
    def base_text(self) -> str:
        return self.measure.write(self.base)

    @property
    def p_text(self) -> str:
        return formatting.p_value(self.p)

    @property
    def value_text(self) -> str:
        return self.measure.write(self.value)

    def as_record(self) -> dict[str, Any]:
        return {
            "name": self.measure.name,
            "base": self.base,
            "value": self.value,
            "difference": self.difference._asdict() if self.difference else None,
            "p_corrected": self.p,
            "verdict": self.word,
            **(self.tally._asdict() if self.tally else Tally(0, 0, 0)._asdict()),
        }


class Values(NamedTuple):
    """Of trials of one side."""

    score: Estimate | None
    error_share: float | None
    cost_per_thousand: float | None
    latency_p95: float | None


def values_of(trials: Columns) -> Values:
    import numpy

    scored = trials.is_scored
    done, answered = len(scored), int(scored.sum())
    costs, latencies = trials.cost[scored], trials.latency[scored]
    latencies = latencies[~numpy.isnan(latencies)]
    is_priced = answered > 0 and not numpy.isnan(costs).any()
    return Values(
        score=score_of(trials.only(scored)),
        error_share=1 - answered / done if done else None,
        cost_per_thousand=THOUSAND * float(costs.mean()) if is_priced else None,
        latency_p95=float(numpy.quantile(latencies, SLOWEST)) if len(latencies) else None,
    )


def score_of(scored: Columns) -> Estimate | None:
    """With an interval over cases: what repeats and candidates made of a case goes together."""
    import numpy

    if not len(scored.case):
        return None
    _, place = numpy.unique(scored.case, return_inverse=True)
    counts, totals = numpy.bincount(place), numpy.bincount(place, scored.value)
    return estimate_clustered(
        Clusters(
            cases=len(counts),
            n=len(scored.value),
            total=float(totals.sum()),
            total_squares=float((totals**2).sum()),
            n_squares=float((counts**2).sum()),
            products=float((counts * totals).sum()),
            square_total=float((scored.value**2).sum()),
        )
    )


class PairedCells(NamedTuple):
    """The same cells in both sides."""

    key: Numbers
    before: Cells
    after: Cells


def paired_cells(found: Comparison) -> PairedCells:
    shared = shared_cells(found.cells_before, found.cells_after)
    before = Cells(*(column[shared.before] for column in found.cells_before))
    after = Cells(*(column[shared.after] for column in found.cells_after))
    return PairedCells(before.key, before, after)


def measure(base: Columns, other: Columns, found: Comparison) -> list[MeasuredChange]:
    """Of trials whose candidates match. Not corrected yet: see `several.py`."""
    cells = paired_cells(found)
    before, after = values_of(base), values_of(other)
    changes: list[tuple[Measure, Numbers]] = [
        (SCORE, cells.after.value - cells.before.value),
        (ERRORS, cells.after.failed_share - cells.before.failed_share),
        (COST, THOUSAND * (cells.after.cost - cells.before.cost)),
    ]
    measured = [
        MeasuredChange(
            measure=one,
            base=number_of(before, one),
            value=number_of(after, one),
            difference=(difference := difference_for(one, found, cells, change)),
            p=difference.p if difference else None,
            tally=tally_of(cells.key, change, is_lower_better=one.is_lower_better),
        )
        for one, change in changes
    ]
    slowest = compare_latencies(base, other, cells)
    latency = MeasuredChange(
        LATENCY,
        before.latency_p95,
        after.latency_p95,
        slowest,
        slowest.p if slowest else None,
        tally=None,
    )
    return [*measured, latency]


def number_of(values: Values, one: Measure) -> float | None:
    if one is SCORE:
        return values.score.value if values.score else None
    number: float | None = getattr(values, one.name)
    return number


def difference_for(
    one: Measure, found: Comparison, cells: PairedCells, change: Numbers
) -> Difference | None:
    """A cost that is not known of all answers is none."""
    import numpy

    if one is SCORE:
        return found.overall
    scored = (cells.before.scored > 0) & (cells.after.scored > 0)
    if one is COST and numpy.isnan(change[scored]).any():
        return None
    return difference_of(cells.key, change)


def tally_of(keys: Numbers, change: Numbers, *, is_lower_better: bool) -> Tally:
    import numpy

    known = ~numpy.isnan(change)
    by_case = mean_by(keys[known] % CASES, change[known])
    up, down = int((by_case > CLOSE).sum()), int((by_case < -CLOSE).sum())
    wins, losses = (down, up) if is_lower_better else (up, down)
    return Tally(wins, losses, len(by_case) - wins - losses)


def compare_latencies(base: Columns, other: Columns, cells: PairedCells) -> Difference | None:
    """Of answers to the cases that both have."""
    import numpy

    shared = numpy.unique(cells.key % CASES)
    kept = []
    for trials in (base, other):
        known = trials.is_scored & ~numpy.isnan(trials.latency)
        known &= numpy.isin(trials.case, shared, kind="table" if len(shared) else None)
        kept.append(trials.only(known))
    before, after = kept
    return compare_percentiles(before.latency, before.case, after.latency, after.case, SLOWEST)
