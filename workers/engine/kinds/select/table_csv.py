"""The table of combinations as CSV: the columns that other selectors write, and ours."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from workers.engine.kinds.select.rows import CombinationRow
from workers.engine.spreadsheets import guard

ATTRIBUTE = "combination"


def csv_of(rows: Sequence[CombinationRow]) -> str:
    """A line for each combination, its choices in columns of their own at the end."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    steps = list(rows[0].choices) if rows else []
    lines = [cells_of(row) for row in rows]
    columns = list(lines[0]) if lines else []
    writer.writerow([*columns, *map(guard, steps)])
    for row, cells in zip(rows, lines, strict=True):
        writer.writerow([guard(cell) for cell in (*cells.values(), *row.choices.values())])
    return text.getvalue()


def cells_of(row: CombinationRow) -> dict[str, Any]:
    seconds = None if row.latency_ms is None else row.latency_ms / 1000
    return {
        "model_name": row.name,
        "accuracy": row.accuracy,
        "latency_seconds": seconds,
        "input_tokens": row.tokens.given if row.tokens else None,
        "output_tokens": row.tokens.received if row.tokens else None,
        "price": row.dollars_per_sample,
        "attribute": ATTRIBUTE,
        "is_best": row.is_best,
        "low": row.low,
        "high": row.high,
        "n": row.n,
        "failed": row.failed,
        "saw_most": row.saw_most,
        "on_front": row.on_front,
        "eliminated_in": row.eliminated_in,
        "why": row.why,
    }
