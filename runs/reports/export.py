"""Writes scores into a file: JSONL as they are, or CSV that no spreadsheet takes for formulas."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workers.engine.spreadsheets import guard

FORMATS = (".jsonl", ".csv")
CHOICE_FORMATS = (*FORMATS, ".yaml", ".yml")  # the table as CSV, the winner as YAML
COLUMNS = [
    "position", "candidate", "candidate_name", "case", "repeat", "value", "passed", "error_class",
    "error_message", "answer", "latency_ms", "tokens_in", "tokens_out", "cost", "full_cost",
    "cached", "attempts",
]  # fmt: skip


class ExportError(ValueError):
    """The file cannot be written. Says why."""


def check_export(path: Path, kind: str = "evaluate") -> None:
    """Before the run, not after it."""
    formats = CHOICE_FORMATS if kind == "select" else FORMATS
    if path.suffix.lower() not in formats:
        raise ExportError(f"{path.name}: give a name that ends in {' or '.join(formats)}.")
    if not path.absolute().parent.is_dir():
        raise ExportError(f"There is no folder {path.absolute().parent}.")


def write_scores(path: Path, records: Iterable[dict[str, Any]]) -> None:
    if path.suffix.lower() == ".csv":
        write_csv(path, records)
        return
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write_csv(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for record in records:
            error = record["error"] or {"class": "", "message": ""}
            flat = {**record, "error_class": error["class"], "error_message": error["message"]}
            writer.writerow([guard(flat[column]) for column in COLUMNS])
