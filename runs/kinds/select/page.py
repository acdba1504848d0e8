"""The page of a selection: which of its rows are shown, and their pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlencode

from runs import formatting
from runs.kinds.plots import Plot
from runs.kinds.select.pictures import (
    AlivePicture,
    ArmsPicture,
    by_upper_bound,
    draw_alive,
    draw_arms,
    draw_plots,
)
from runs.kinds.select.standing import selection_of
from runs.models import Run
from workers.engine.kinds.select.layers import Layer
from workers.engine.kinds.select.report import SelectionReport
from workers.engine.kinds.select.rows import CombinationRow, RoundRow
from workers.engine.strategies import SELECTIONS

MOST_ROWS = 40  # more are cut, unless all are asked for
FIRST_ROWS = 20
LAST_ROWS = 5
MOST_LAYERS = 12
LAYER_ROWS = 10
ROUNDS_LISTED = 30
SMALLEST_GAP = 0.0005  # below it, three decimals are all zeros


@dataclass(frozen=True)
class Wanted:
    """Which rows a person wants to see: those with a text in their names, or all."""

    find: str = ""
    all: bool = False

    @property
    def query(self) -> str:
        given = {"find": self.find, "all": "1" if self.all else ""}
        asked = urlencode({name: value for name, value in given.items() if value})
        return f"?{asked}" if asked else ""


@dataclass(frozen=True)
class SelectionPage:
    report: SelectionReport
    wanted: Wanted
    found: int  # rows that fit what was looked for
    arms: ArmsPicture
    rows: list[CombinationRow]
    hidden: int  # rows left out between the first and the last ones
    alive: AlivePicture
    plots: list[Plot]
    layers: list[Layer]
    hidden_layers: int
    rounds: list[RoundRow]  # the newest first
    gap_text: str  # between the best and its closest rival; empty if there is none
    prefix: str  # of every model: an endpoint that all share is not repeated in each name

    first_rows: ClassVar[int] = FIRST_ROWS
    last_rows: ClassVar[int] = LAST_ROWS

    @property
    def is_without_strategy(self) -> bool:
        """Whether the strategy is a plug-in that is not installed any more."""
        return self.report.strategy not in SELECTIONS

    @property
    def untried(self) -> int:
        return len(self.report.rows) - self.report.tried


def selection_page(run: Run, wanted: Wanted) -> SelectionPage:
    report = selection_of(run)
    prefix = shared_endpoint(report.rows)
    found = [row for row in report.rows if is_wanted(row, wanted.find.lower(), prefix)]
    is_cut = len(found) > MOST_ROWS and not wanted.all
    return SelectionPage(
        report=report,
        wanted=wanted,
        found=len(found),
        arms=draw_arms(report, cut(by_upper_bound(found, report.forecasts), is_cut=is_cut)),
        rows=cut(found, is_cut=is_cut),
        hidden=len(found) - FIRST_ROWS - LAST_ROWS if is_cut else 0,
        alive=draw_alive(report.rounds, len(report.rows)),
        plots=draw_plots(report.rows, prefix),
        layers=[
            layer._replace(rows=layer.rows[:LAYER_ROWS]) for layer in report.layers[-MOST_LAYERS:]
        ],
        hidden_layers=max(0, len(report.layers) - MOST_LAYERS),
        rounds=report.rounds[: -ROUNDS_LISTED - 1 : -1],
        gap_text=gap_text(report, "winner" if run.is_finished else "leader"),
        prefix=prefix,
    )


def gap_text(report: SelectionReport, best: str) -> str:
    """How the best and its closest rival differ on the cases that both have seen."""
    if not report.rivals:
        return ""
    gap = report.rivals[0].gap
    if abs(gap) >= SMALLEST_GAP:
        word = "higher" if gap > 0 else "lower"
        return f"the {best}'s {report.aim} is {formatting.score(abs(gap))} {word}"
    return "the accuracies are equal" if report.aim == "accuracy" else f"the {report.aim} is equal"


def read_wanted(given: Mapping[str, str]) -> Wanted:
    return Wanted(given.get("find", "").strip()[:200], given.get("all") == "1")


def is_wanted(row: CombinationRow, text: str, prefix: str) -> bool:
    """By its name in full, or as it is shown."""
    return text in row.name.lower() or text in formatting.without_endpoint(row.name, prefix).lower()


def cut(rows: Sequence[CombinationRow], *, is_cut: bool) -> list[CombinationRow]:
    return [*rows[:FIRST_ROWS], *rows[-LAST_ROWS:]] if is_cut else list(rows)


def shared_endpoint(rows: Sequence[CombinationRow]) -> str:
    """As in `openai/`; empty if the models are of several endpoints."""
    endpoints = {model.partition("/")[0] for row in rows for model in row.choices.values()}
    return f"{endpoints.pop()}/" if len(endpoints) == 1 else ""
