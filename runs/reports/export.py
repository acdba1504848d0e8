"""Writes scores: JSONL as they are, or CSV that no spreadsheet takes for formulas."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from runs.reports.cells import cells_of, columns_of
from runs.reports.parquet import write_parquet
from runs.selectors.scores.columns import ScoreLine
from workers.engine.spreadsheets import guard

FORMATS = (".jsonl", ".csv", ".parquet")
Format = Literal["csv", "jsonl"]


class ExportError(ValueError):
    """The file cannot be written. Says why."""


class Line:
    """A file that a CSV writer writes one line to: `writerow` returns what `write` does."""

    def write(self, text: str) -> str:
        return text


def check_export(path: Path, more: Sequence[str] = ()) -> None:
    """Before the run, not after it. `more`: what the kind of run can write besides scores."""
    formats = (*FORMATS, *more)
    if path.suffix.lower() not in formats:
        raise ExportError(f"{path.name}: give a name that ends in {' or '.join(formats)}.")
    if not path.absolute().parent.is_dir():
        raise ExportError(f"There is no folder {path.absolute().parent}.")


def write_scores(path: Path, scores: Iterable[ScoreLine], *, with_records: bool = False) -> None:
    if path.suffix.lower() == ".parquet":
        with path.open("wb") as binary:
            write_parquet(binary, scores, with_records=with_records)
        return
    lines = csv_lines if path.suffix.lower() == ".csv" else jsonl_lines
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.writelines(lines(scores, with_records))


def csv_lines(scores: Iterable[ScoreLine], with_records: bool = False) -> Iterator[str]:
    writer: Any = csv.writer(Line())
    columns = columns_of(with_records)
    yield writer.writerow(columns)
    for score in scores:
        cells = cells_of(score)
        yield writer.writerow([guard(cells[column]) for column in columns])


def jsonl_lines(scores: Iterable[ScoreLine], with_records: bool = False) -> Iterator[str]:
    for score in scores:
        yield json.dumps(score, ensure_ascii=False) + "\n"


LINES: dict[Format, Callable[[Iterable[ScoreLine], bool], Iterator[str]]] = {
    "csv": csv_lines,
    "jsonl": jsonl_lines,
}
