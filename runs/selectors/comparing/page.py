"""The compare page, put together: who is compared, the figures, one page of cases, the pictures."""

from collections.abc import Sequence
from typing import NamedTuple

from runs.models import Case
from runs.selectors.comparing.cases import StoredCases
from runs.selectors.comparing.charts import Charts, draw
from runs.selectors.comparing.comparison import RunComparison
from runs.selectors.comparing.configurations import Differing, differing_keys
from runs.selectors.comparing.metrics import Measure, MeasuredChange
from runs.selectors.comparing.rows import CasePage, Grid, make_grid, picked_cases, read_page
from runs.selectors.comparing.several import compare_all
from runs.selectors.comparing.sides import Side


class MetricRow(NamedTuple):
    measure: Measure
    base: str
    changes: list[MeasuredChange]  # of each other side


class ComparePage(NamedTuple):
    sides: list[Side]  # the base first
    compared: list[RunComparison]
    metrics: list[MetricRow]
    cases: CasePage
    charts: Charts
    against: int  # the side that is drawn: its place among all
    differing: Differing

    @property
    def base(self) -> Side:
        return self.sides[0]

    @property
    def others(self) -> list[Side]:
        return self.sides[1:]

    @property
    def other_drawn(self) -> Side:
        return self.sides[self.against]

    @property
    def differing_rows(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Each value with the side that has it."""
        labels = [side.label for side in self.sides]
        return [
            (one.key, list(zip(one.values, labels, strict=True))) for one in self.differing.keys
        ]

    @property
    def is_provisional(self) -> bool:
        return any(side.is_live for side in self.sides)

    @property
    def has_candidates(self) -> bool:
        """Whether a row has to say whose case it is."""
        return any(len(one.candidates) > 1 for one in self.compared)


def compare_page(sides: list[Side], show: str, page: int, against: int) -> ComparePage:
    compared = compare_all(sides)
    grid = make_grid(compared)
    against = against if 0 < against < len(sides) else 1
    return ComparePage(
        sides=sides,
        compared=compared,
        metrics=metric_rows(compared),
        cases=read_page(grid, show, page),
        charts=draw(grid, against),
        against=against,
        differing=differing_keys(sides),
    )


def metric_rows(compared: Sequence[RunComparison]) -> list[MetricRow]:
    """The base as the first of the others is compared with it; where others match other candidates
    of the base, they say what it is there."""
    return [
        MetricRow(changes[0].measure, changes[0].base_text, list(changes))
        for changes in zip(*(one.metrics for one in compared), strict=True)
    ]


def cases_shown(sides: list[Side], show: str) -> list[Case]:
    """Every case that a filter shows, each once, in the order of its dataset."""
    grid: Grid = make_grid(compare_all(sides))
    found: list[Case] = []
    for side, positions in picked_cases(grid, show):
        if isinstance(side.cases, StoredCases):
            found += side.cases.rows_at(positions)
    return found
