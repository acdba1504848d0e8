"""A choice among combinations as a whole: what was found, how sure it is, and what it saved."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, NamedTuple

from workers.engine.kinds.select.layers import Layer, layers_of
from workers.engine.kinds.select.rows import CombinationRow, RoundRow
from workers.engine.statistics.distributions import deviate_of_pairs
from workers.engine.statistics.separating import LEVEL
from workers.engine.strategies import Rounds
from workers.engine.strategies.bayesian import Bayesian, Forecast
from workers.engine.strategies.intervals import paired_variance
from workers.engine.strategies.options import Objective

MOST_FORECAST = 200  # combinations; of thousands it takes seconds


class Rival(NamedTuple):
    """Somebody whom the winner is not clearly better than, on the cases that both have seen."""

    name: str
    gap: float  # by how much the winner is better in what was looked for
    low: float  # of the gap's 95 % interval for all combinations, which holds 0
    high: float
    n: int
    overlap_low: float  # of the 95 % intervals of both accuracies
    overlap_high: float


@dataclass(frozen=True)
class SelectionReport:
    strategy: str
    rows: list[CombinationRow]
    rounds: list[RoundRow]
    evaluations: int
    brute_force: int  # evaluations that trying everything takes
    dollars: float | None  # what the search has cost; None: unknown
    seconds: float | None
    aim: str  # what the strategy maximises: its bounds are of that
    confidence: float  # half a bound's width, in standard errors
    ignores_price: bool = False  # although it has a weight: not all prices are known
    threshold: float | None = None  # the strategy sorts by it, and looks for no leader
    rivals: list[Rival] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    forecasts: Mapping[int, Forecast] = field(default_factory=dict)  # of the untried, by place

    @property
    def best(self) -> CombinationRow | None:
        return next((row for row in self.rows if row.is_best), None)

    @property
    def alive(self) -> int:
        return sum(row.eliminated_in is None for row in self.rows)

    @property
    def eliminated(self) -> int:
        return len(self.rows) - self.alive

    @property
    def tried(self) -> int:
        return sum(row.n > 0 for row in self.rows)

    @property
    def last_round(self) -> RoundRow | None:
        return self.rounds[-1] if self.rounds else None

    @property
    def saved_share(self) -> float:
        """Of what trying everything would have taken."""
        return 1 - self.evaluations / self.brute_force if self.brute_force else 0.0

    @property
    def brute_force_dollars(self) -> float | None:
        """About: each combination at its own measured price, those without one at the mean."""
        prices = [row.dollars_per_sample for row in self.rows]
        known = [price for price in prices if price is not None]
        if not known or not self.rows:
            return None
        usual, each = fmean(known), self.brute_force / len(self.rows)
        return math.fsum(usual if price is None else price for price in prices) * each


def forecasts_of(strategy: Rounds[Any]) -> Mapping[int, Forecast]:
    """What is expected of those that were not tried, where a strategy learns that."""
    is_small = len(strategy.candidates) <= MOST_FORECAST
    return strategy.forecasts() if isinstance(strategy, Bayesian) and is_small else {}


def aim_text(objective: Objective, *, ignores_price: bool = False) -> str:
    """For a person: accuracy − 0.2 × price. Price and latency lie between 0 and 1."""
    cost = 0.0 if ignores_price else objective.lambda_cost
    weights = {"price": cost, "latency": objective.lambda_latency}
    return "accuracy" + "".join(f" − {w:g} × {what}" for what, w in weights.items() if w)


def rivals_of(strategy: Rounds[Any], rows: Sequence[CombinationRow]) -> list[Rival]:
    """Who may be as good as the winner, the closest first. By differences case by case: what is
    hard for everybody cancels out. Also of those that were given up after a few cases; and as the
    winner was chosen among all, a gap has to be beyond what chance makes between any two."""
    best = next((row for row in rows if row.is_best), None)
    if best is None:
        return []
    others = [row for row in rows if row is not best and row.failed < row.n]
    deviate = deviate_of_pairs(1 + len(others), LEVEL)
    found = [rival_of(strategy, best, row, deviate) for row in others]
    return sorted((rival for rival in found if rival.low <= 0), key=lambda rival: rival.gap)


def rival_of(
    strategy: Rounds[Any], best: CombinationRow, other: CombinationRow, deviate: float
) -> Rival:
    both = zip(strategy.board.worth(best.place), strategy.board.worth(other.place), strict=False)
    pairs = [(a, b) for a, b in both if a is not None and b is not None]
    ours, theirs = [a for a, _ in pairs], [b for _, b in pairs]
    n = len(pairs)
    gap = (math.fsum(ours) - math.fsum(theirs)) / n if n else 0.0
    half = deviate * math.sqrt(paired_variance(ours, theirs, gap) / n) if n else math.inf
    low = max(best.low or 0.0, other.low or 0.0)
    high = min(best.high or 0.0, other.high or 0.0)
    return Rival(other.name, gap, gap - half, gap + half, n, low, high)


def report_of(
    strategy: Rounds[Any],
    rows: list[CombinationRow],
    rounds: list[RoundRow],
    *,
    name: str,
    evaluations: int,
    objective: Objective | None = None,
    dollars: float | None = None,
    seconds: float | None = None,
    is_over: bool = True,
) -> SelectionReport:
    """Layers only at the end: in the middle of a round nobody saw as many cases as the next."""
    objective, ignores_price = objective or Objective(), strategy.board.ignores_price
    return SelectionReport(
        strategy=name,
        rows=rows,
        rounds=rounds,
        evaluations=evaluations,
        brute_force=len(rows) * strategy.cases,
        dollars=dollars,
        seconds=seconds,
        aim=aim_text(objective, ignores_price=ignores_price),
        ignores_price=ignores_price and objective.lambda_cost > 0,
        confidence=strategy.options.confidence,
        threshold=getattr(strategy.options, "threshold", None),
        rivals=rivals_of(strategy, rows),
        layers=layers_of(strategy) if is_over else [],
        forecasts=forecasts_of(strategy),
    )
