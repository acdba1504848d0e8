"""What can be said of the rows of a dataset without a model: duplicates, lengths, splits, tags.

Rows never change, so a report is made once in a process, in one pass over them."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from pydantic import BaseModel

from runs.models import Dataset
from runs.models.dataset import ColumnRole
from runs.selectors.case_sources import fields_in_order
from runs.selectors.datasets.duplicates import Columns, DuplicateFinder, Duplicates
from workers.engine.calling.calls import CHARACTERS_PER_TOKEN
from workers.engine.spec.tags import tags_in

KEPT_REPORTS = 32
BINS = 16
MOST_VALUES = 50  # of splits and tags


class LengthBin(BaseModel):
    """Rows whose inputs have about `low` to `high` tokens, both included."""

    low: int
    high: int
    rows: int


class Lengths(BaseModel):
    """Tokens of the input columns together, about: a token is taken for four characters."""

    median: int
    p95: int
    most: int
    total: int
    bins: list[LengthBin]


class ValueCount(BaseModel):
    value: str
    rows: int


class DatasetReport(BaseModel):
    """`splits` and `tags` count the rows of each, the most frequent first, at most fifty."""

    name: str
    version: int
    rows: int
    inputs: list[str]
    lengths: Lengths
    duplicates: Duplicates
    splits: list[ValueCount]
    tags: list[ValueCount]


def report_on(dataset: Dataset) -> DatasetReport:
    columns = Columns(
        tuple(dataset.input_columns or dataset.columns),
        dataset.expected_column,
        dataset.column_for(ColumnRole.SPLIT),
        dataset.column_for(ColumnRole.TAGS),
    )
    found = _read(dataset.pk, dataset.digest, columns)
    return found.model_copy(update={"name": dataset.name, "version": dataset.version})


@lru_cache(maxsize=KEPT_REPORTS)
def _read(dataset_id: int, digest: str, columns: Columns) -> DatasetReport:
    """With the digest: a database that is emptied gives its numbers again."""
    finder, lengths = DuplicateFinder(columns), list[int]()
    splits, tags = Counter[str](), Counter[str]()
    for number, fields in enumerate(fields_in_order(dataset_id), start=1):
        finder.note(number, fields)
        characters = sum(len(fields.get(column, "")) for column in columns.inputs)
        lengths.append(-(-characters // CHARACTERS_PER_TOKEN))
        if columns.split:
            splits[fields.get(columns.split, "")] += 1
        if columns.tags:
            tags.update(tags_in(fields.get(columns.tags, "")))
    return DatasetReport(
        name="",
        version=0,
        rows=len(lengths),
        inputs=list(columns.inputs),
        lengths=lengths_of(sorted(lengths)),
        duplicates=finder.found(),
        splits=counted(splits),
        tags=counted(tags),
    )


def counted(values: Counter[str]) -> list[ValueCount]:
    return [ValueCount(value=value, rows=n) for value, n in values.most_common(MOST_VALUES)]


def lengths_of(ordered: Sequence[int]) -> Lengths:
    if not ordered:
        return Lengths(median=0, p95=0, most=0, total=0, bins=[])
    return Lengths(
        median=ordered[(len(ordered) - 1) // 2],
        p95=ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)],
        most=ordered[-1],
        total=sum(ordered),
        bins=bins_of(ordered),
    )


def bins_of(ordered: Sequence[int]) -> list[LengthBin]:
    """Of equal width, from the shortest to the longest."""
    low, high = ordered[0], ordered[-1]
    width = -(-(high - low + 1) // BINS)
    counts = Counter((length - low) // width for length in ordered)
    last = (high - low) // width
    return [
        LengthBin(low=low + n * width, high=low + (n + 1) * width - 1, rows=counts[n])
        for n in range(last + 1)
    ]
