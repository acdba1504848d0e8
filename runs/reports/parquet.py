"""Scores as Parquet, for notebooks and data frames: a batch at a time, however many there are.

arro3 is Arrow's Rust library in 12 MB; pyarrow would be 55. It is imported where it is used."""

from collections.abc import Iterable, Iterator
from typing import IO, Any

from runs.reports.cells import cells_of, columns_of
from runs.selectors.scores.columns import ScoreLine
from workers.engine.json_text import to_json

BATCH_ROWS = 1_000  # in memory at once
GROUP_ROWS = 20_000  # of the file that are written together

# Those that are no texts.
TYPES = {
    "int64": ("position", "case", "repeat", "tokens_in", "tokens_out", "attempts"),
    "float64": ("value", "latency_ms", "cost", "full_cost"),
    "bool": ("passed", "cached", "truncated"),
}


def write_parquet(
    file: IO[bytes], scores: Iterable[ScoreLine], *, with_records: bool = False
) -> None:
    from arro3.core import RecordBatchReader, Schema
    from arro3.io import write_parquet as write

    columns = columns_of(with_records)
    schema = Schema([field_of(column) for column in columns])
    batches = record_batches(scores, columns, schema)
    # It goes through the batches one by one, whatever its types say.
    reader = RecordBatchReader.from_batches(schema, batches)
    write(reader, file, compression="zstd(3)", max_row_group_size=GROUP_ROWS)


def record_batches(scores: Iterable[ScoreLine], columns: list[str], schema: Any) -> Iterator[Any]:
    from arro3.core import Array, RecordBatch

    for lines in batched_lines(scores):
        cells = [cells_of(line) for line in lines]
        arrays = [
            Array([value_of(cell[column]) for cell in cells], type=type_of(column))
            for column in columns
        ]
        yield RecordBatch.from_arrays(arrays, schema=schema)


def batched_lines(scores: Iterable[ScoreLine]) -> Iterator[list[ScoreLine]]:
    waiting: list[ScoreLine] = []
    for score in scores:
        waiting.append(score)
        if len(waiting) == BATCH_ROWS:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def field_of(column: str) -> Any:
    from arro3.core import Field

    return Field(column, type_of(column), nullable=True)


def type_of(column: str) -> Any:
    from arro3.core import DataType

    name = next((kind for kind, columns in TYPES.items() if column in columns), "string")
    return getattr(DataType, name)()


def value_of(value: Any) -> Any:
    """Half a character cannot be stored: it is written as its escape."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value if value is None or isinstance(value, int | float) else to_json(value).decode()
