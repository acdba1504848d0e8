"""Score matrices: every combination's score on every datapoint, as measured once by somebody."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.records import Candidate

Row = tuple[float | None, ...]


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
    first, and a column per datapoint; empty is a run that failed."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows = rows_of_json(text) if text.lstrip().startswith("{") else rows_of_csv(text)
        return check(path.stem, rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        told = f"{error}. Give JSON with combinations and scores, or a CSV with a row for each."
        raise ConfigurationError([Problem(path.name, told)]) from None


def rows_of_json(text: str) -> list[tuple[str, Row]]:
    document: dict[str, Any] = json.loads(text)
    rows = [tuple(map(number, row)) for row in document["scores"]]
    return list(zip(map(str, document["combinations"]), rows, strict=True))


def rows_of_csv(text: str) -> list[tuple[str, Row]]:
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if rows and not all(is_number(cell) for cell in rows[0][1:]):
        rows = rows[1:]  # the names of the datapoints
    return [(row[0], tuple(map(number, row[1:]))) for row in rows]


def check(name: str, rows: list[tuple[str, Row]]) -> Matrix:
    lengths = {len(row) for _, row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError("It needs combinations with equally many scores, at least one each")
    return Matrix(name, tuple(label for label, _ in rows), tuple(row for _, row in rows))


def number(cell: Any) -> float | None:
    return None if cell is None or cell == "" else float(cell)


def is_number(cell: str) -> bool:
    try:
        number(cell)
    except ValueError:
        return False
    return True
