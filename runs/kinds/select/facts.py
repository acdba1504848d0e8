"""A selection for programs: what the API answers and commands print."""

import math

from pydantic import BaseModel

from workers.engine.kinds.select.layers import Layer
from workers.engine.kinds.select.report import SelectionReport
from workers.engine.kinds.select.rows import CombinationRow, RoundRow
from workers.engine.strategies.intervals import Interval


class Bounds(BaseModel):
    """What the strategy looks at: the mean of what it maximises, and its own interval."""

    mean: float
    low: float
    high: float


class Combination(BaseModel):
    """A model for each step. Failed trials count as wrong; the interval is of 95 %."""

    combination: str
    name: str
    choices: dict[str, str]
    is_best: bool
    accuracy: float | None
    low: float | None
    high: float | None
    n: int
    failed: int
    latency_ms: float | None
    dollars_per_sample: float | None
    tokens_in: int | None
    tokens_out: int | None
    bounds: Bounds | None
    saw_most: bool
    on_front: bool
    eliminated_in: int | None
    why: str


class Round(BaseModel):
    """One round, and how its slots were split: combinations at once, and cases of each."""

    round: int
    combinations: int
    cases: int
    trials: int
    slots_combinations: int
    slots_cases: int
    alive: int


class LayerCombination(BaseModel):
    combination: str
    name: str
    accuracy: float | None
    low: float | None
    high: float | None
    latency_ms: float | None
    dollars_per_sample: float | None
    is_best: bool


class LayerFacts(BaseModel):
    """The combinations that saw at least n cases, measured on the first n."""

    n: int
    combinations: list[LayerCombination]
    eliminated: list[str]


class RivalFacts(BaseModel):
    """A combination that the winner is not clearly better than: the 95 % interval of the gap
    contains 0."""

    name: str
    gap: float
    low: float
    high: float
    n: int
    overlap_low: float
    overlap_high: float


class SelectionFacts(BaseModel):
    """What a selection has found, and what trying everything would have taken. Layers come when the
    run has ended, unless every combination saw the same number of cases."""

    strategy: str
    aim: str
    alive: int
    eliminated: int
    evaluations: int
    brute_force_evaluations: int
    saved_share: float
    dollars: float | None
    brute_force_dollars: float | None
    seconds: float | None
    is_separable: bool
    rivals: list[RivalFacts]
    combinations: list[Combination]
    rounds: list[Round]
    layers: list[LayerFacts]


def facts_of(report: SelectionReport) -> SelectionFacts:
    return SelectionFacts(
        strategy=report.strategy,
        aim=report.aim,
        alive=report.alive,
        eliminated=report.eliminated,
        evaluations=report.evaluations,
        brute_force_evaluations=report.brute_force,
        saved_share=report.saved_share,
        dollars=report.dollars,
        brute_force_dollars=report.brute_force_dollars,
        seconds=report.seconds,
        is_separable=report.best is not None and not report.rivals,
        rivals=[
            RivalFacts(**rival._asdict()) for rival in report.rivals if math.isfinite(rival.high)
        ],
        combinations=[combination_of(row) for row in report.rows],
        rounds=[round_of(record) for record in report.rounds],
        layers=[layer_of(layer) for layer in report.layers],
    )


def combination_of(row: CombinationRow) -> Combination:
    same = {name: getattr(row, name) for name in Combination.model_fields if hasattr(row, name)}
    named = {
        "combination": row.key,
        "tokens_in": row.tokens.given if row.tokens else None,
        "tokens_out": row.tokens.received if row.tokens else None,
        "bounds": bounds_of(row.bounds),
    }
    return Combination(**{**same, **named})


def bounds_of(found: Interval) -> Bounds | None:
    return Bounds(mean=found.mean, low=found.low, high=found.high) if found.n else None


def round_of(record: RoundRow) -> Round:
    return Round(
        round=record.number,
        combinations=record.combinations,
        cases=record.cases,
        trials=record.trials,
        slots_combinations=record.split.candidates,
        slots_cases=record.split.cases_per_candidate,
        alive=record.alive,
    )


def layer_of(layer: Layer) -> LayerFacts:
    rows = [
        LayerCombination(
            combination=row.key,
            name=row.name,
            is_best=row.is_best,
            accuracy=row.measured.accuracy,
            low=row.measured.low,
            high=row.measured.high,
            latency_ms=row.measured.latency_ms,
            dollars_per_sample=row.measured.dollars_per_sample,
        )
        for row in layer.rows
    ]
    return LayerFacts(n=layer.n, combinations=rows, eliminated=layer.eliminated)
