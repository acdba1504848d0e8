"""Score matrices: every combination's score on every datapoint, as measured once by somebody."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.records import Candidate

Row = tuple[float | None, ...]
DELIMITERS = (",", ";", "\t")
FEW = 2  # datapoints: 0 and 1 may be scores as well as names


@dataclass(frozen=True)
class Matrix:
    """`scores[i][j]` is combination i on datapoint j; None is a run that failed."""

    name: str
    combinations: tuple[str, ...]
    scores: tuple[Row, ...]

    @property
    def datapoints(self) -> int:
        return len(self.scores[0])

    def candidates(self) -> list[Candidate]:
        """`planner=a + solver=b` is a combination of two steps."""
        return [
            Candidate(str(arm), label, {"choices": choices_in(label)})
            for arm, label in enumerate(self.combinations)
        ]

    def accuracies(self, *, drops_failures: bool) -> list[float]:
        return [accuracy_of(row, drops_failures=drops_failures) for row in self.scores]


def accuracy_of(row: Row, *, drops_failures: bool) -> float:
    answered = [score for score in row if score is not None]
    n = len(answered) if drops_failures else len(row)
    return sum(answered) / n if n else 0.0


def choices_in(label: str) -> dict[str, str]:
    parts = [part.partition("=") for part in label.split(" + ")]
    return {step: choice for step, _, choice in parts}


def read_matrix(path: Path) -> Matrix:
    """A JSON object with `combinations` and `scores`, or a CSV: a row per combination, its name
    first, and a column per datapoint, with a header or without; empty is a run that failed."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = rows_of_json(text) if text.lstrip().startswith("{") else rows_of_csv(text)
        return check(path.stem, rows)
    except (OSError, ValueError) as error:
        told = f"{error}. Give JSON with combinations and scores, or a CSV with a row for each."
        raise ConfigurationError([Problem(path.name, told)]) from None


def rows_of_json(text: str) -> list[tuple[str, Row]]:
    document: dict[str, Any] = json.loads(text)
    for part in ("combinations", "scores"):
        if not isinstance(document.get(part), list):
            raise ValueError(f"It has no list of {part}")
    names, scores = document["combinations"], document["scores"]
    if len(names) != len(scores):
        raise ValueError(f"It has {len(names)} combinations and {len(scores)} rows of scores")
    if not all(isinstance(row, list) for row in scores):
        raise ValueError("Each of its scores is a list, one for each combination")
    return [read_row(str(name), row) for name, row in zip(names, scores, strict=True)]


def rows_of_csv(text: str) -> list[tuple[str, Row]]:
    first, *_ = text.splitlines() or [""]
    delimiter = max(DELIMITERS, key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
    if rows and is_header(rows[0]):
        rows = rows[1:]
    return [read_row(row[0], row[1:]) for row in rows]


def is_header(row: Sequence[str]) -> bool:
    """Names of datapoints, which may be numbers: 0, 1, 2 and so on."""
    cells = row[1:]
    counted = [[str(start + place) for place in range(len(cells))] for start in (0, 1)]
    return not all(map(is_number, cells)) or (len(cells) > FEW and cells in counted)


def read_row(name: str, cells: Sequence[Any]) -> tuple[str, Row]:
    scores: list[float | None] = []
    for place, cell in enumerate(cells, start=1):
        try:
            scores.append(number(cell))
        except (TypeError, ValueError):
            told = f"Score {place} of {name!r} is {cell!r}, which is no number"
            raise ValueError(told) from None
    return name, tuple(scores)


def check(name: str, rows: list[tuple[str, Row]]) -> Matrix:
    if not rows:
        raise ValueError("It has no combinations")
    label, first = rows[0]
    for other, row in rows:
        if len(row) != len(first):
            raise ValueError(
                f"{label!r} has {len(first)} scores and {other!r} has {len(row)}: every "
                "combination needs one for each datapoint, empty where it failed"
            )
    if not first:
        raise ValueError("It has no scores")
    return Matrix(name, tuple(label for label, _ in rows), tuple(row for _, row in rows))


def number(cell: Any) -> float | None:
    """A score; None for what other programs write where there is none."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return None
    score = float(cell)
    if math.isinf(score):
        raise ValueError
    return None if math.isnan(score) else score


def is_number(cell: str) -> bool:
    try:
        number(cell)
    except ValueError:
        return False
    return True
