"""A base compared with one side or several: the more there are, the smaller a p has to be."""

from collections.abc import Sequence
from dataclasses import replace

from runs.selectors.comparing.comparison import RunComparison, compare_common
from runs.selectors.comparing.metrics import MeasuredChange
from runs.selectors.comparing.sides import Side, with_common_cases
from workers.engine.statistics.separating import holm


def compare_all(sides: Sequence[Side]) -> list[RunComparison]:
    """The first with each of the others."""
    base, *others = zip(sides, with_common_cases(sides), strict=True)
    return corrected([compare_common(base, other) for other in others])


def corrected(compared: list[RunComparison]) -> list[RunComparison]:
    """By Holm, each measure for itself."""
    by_measure = [correct(list(row)) for row in zip(*(c.metrics for c in compared), strict=True)]
    return [
        replace(one, metrics=list(metrics))
        for one, metrics in zip(compared, zip(*by_measure, strict=True), strict=True)
    ]


def correct(changes: list[MeasuredChange]) -> list[MeasuredChange]:
    known = [change.p for change in changes if change.p is not None]
    after = iter(holm(known))
    return [change if change.p is None else replace(change, p=next(after)) for change in changes]
