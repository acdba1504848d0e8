"""Where the cases of a run come from: rows of a stored dataset, rows given in place, or rows that
its kind makes; all of them, or a slice.

A run numbers its cases from 0, in the order of the rows; what is stored, shown and compared is the
row's own position in its dataset.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import orjson
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from runs.models import Case as CaseRow
from runs.models import Dataset, Run
from runs.models.dataset import ColumnRole
from runs.selectors.named_parts import find_dataset
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.json_text import to_json
from workers.engine.records import Case
from workers.engine.spec.configuration import Configuration
from workers.engine.spec.dataset_choice import SLICE, DatasetChoice
from workers.engine.spec.expected import guess_expected
from workers.engine.spec.slicing import guess_split, slice_rows

KEPT_SLICES = 32  # a long list each; pages, planning and leases ask again and again
MOST_NAMED = 1000  # positions in one query; a longer list would be too many parameters


class CaseSource(NamedTuple):
    columns: Sequence[str]
    rows: int  # all of them, whatever a run takes
    expected: str  # the column that counts where a configuration names none
    positions: Sequence[int]  # of the rows that a run takes, ascending
    dataset: Dataset | None = None
    given: Sequence[Mapping[str, str]] = ()


def source_of(configuration: Configuration, datasets: QuerySet[Dataset]) -> CaseSource:
    """`datasets` are those that whoever asks may use. ConfigurationError if the one that is named
    is none of them, or the slice cannot be cut."""
    choice = configuration.dataset
    given = configuration.make_cases() if choice is None else choice.rows
    if given is not None:
        columns = list(given[0])
        positions = positions_in(choice, configuration.seed, columns, given)
        return CaseSource(columns, len(given), guess_expected(columns), positions, given=given)
    dataset = named_dataset(choice, datasets)
    positions = stored_positions(dataset, choice, configuration.seed)
    return CaseSource(dataset.columns, dataset.rows, dataset.expected_column, positions, dataset)


def named_dataset(choice: DatasetChoice | None, datasets: QuerySet[Dataset]) -> Dataset:
    if choice is None:
        raise ConfigurationError([Problem("dataset", "This field is needed.")])
    dataset = find_dataset(choice.name or "", datasets)
    if dataset is None:
        raise ConfigurationError([Problem("dataset", no_dataset(choice.name, datasets))])
    return dataset


def no_dataset(name: str | None, datasets: QuerySet[Dataset]) -> str:
    """The same whether there is none or it is somebody else's: private names are not told."""
    offered = datasets.filter(archived=None, is_hidden=False)
    names = ", ".join(sorted(set(offered.values_list("name", flat=True)))[:20])
    there = names or "none yet; import one under Datasets"
    return (
        f"There is no dataset {name!r} that you may use. Choose one of: {there}. If it is somebody "
        "else's, ask its owner to share it."
    )


def positions_in(
    choice: DatasetChoice | None,
    seed: int,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, str]],
) -> Sequence[int]:
    """Of rows in memory."""
    if choice is None or not choice.must_be_read:
        return first_of(choice, len(rows))
    return slice_rows(choice, seed, columns, rows)


def stored_positions(dataset: Dataset, choice: DatasetChoice | None, seed: int) -> Sequence[int]:
    if choice is None or not choice.must_be_read:
        return first_of(choice, dataset.rows)
    settled = choice.settled(split_column_of(choice, dataset))
    text = to_json({**settled.slice_document(), "name": dataset.digest}).decode()
    return cut_slice(dataset.pk, tuple(dataset.columns), text, seed)


def with_slice(configuration: Configuration, dataset: Dataset) -> Configuration:
    """With its slice as a run freezes it: what a column is for may change later."""
    choice = configuration.dataset
    if choice is None or choice.split is None:
        return configuration
    settled = choice.settled(split_column_of(choice, dataset))
    return configuration.model_copy(update={"dataset": settled})


def split_column_of(choice: DatasetChoice, dataset: Dataset) -> str:
    """Of rows given in place by its name alone, whatever was said of equal rows before."""
    if choice.rows is not None:
        return guess_split(dataset.columns)
    return dataset.column_for(ColumnRole.SPLIT)


def first_of(choice: DatasetChoice | None, rows: int) -> range:
    first = choice.first if choice else None
    return range(rows if first is None else min(first, rows))


@lru_cache(maxsize=KEPT_SLICES)
def cut_slice(dataset_id: int, columns: tuple[str, ...], text: str, seed: int) -> tuple[int, ...]:
    """With the digest of the rows as their name: a database that is emptied gives its numbers
    again."""
    choice = DatasetChoice.model_validate_json(text)
    return tuple(slice_rows(choice, seed, columns, fields_in_order(dataset_id)))


def fields_in_order(dataset_id: int) -> Iterator[dict[str, str]]:
    return map(fields_of, texts_in_order(dataset_id))


def texts_in_order(dataset_id: int) -> Iterator[str]:
    """The rows as JSON, as the database has them: who reads 100,000 need not parse each."""
    texts = as_texts(CaseRow.objects.filter(dataset_id=dataset_id)).values_list("text", flat=True)
    yield from texts.iterator(chunk_size=10_000)


def texts_at(dataset_id: int, positions: Sequence[int]) -> Iterator[tuple[int, str]]:
    """With their positions, which are ascending."""
    for start in range(0, len(positions), MOST_NAMED):
        named = positions[start : start + MOST_NAMED]
        texts = as_texts(CaseRow.objects.filter(dataset_id=dataset_id, position__in=named))
        yield from texts.values_list("position", "text")


def as_texts(rows: QuerySet[CaseRow]) -> Any:
    return rows.order_by("position").annotate(text=Cast("fields", TextField()))


def fields_of(text: str) -> dict[str, str]:
    try:
        found: dict[str, str] = orjson.loads(text)
    except orjson.JSONDecodeError:  # half a surrogate pair, which only Python's own parser takes
        found = json.loads(text)
    return found


def positions_of(run: Run) -> Sequence[int]:
    """The rows of its dataset that a run takes: its case 0 is the first of them. Found again from
    what was frozen at its launch, with its dataset loaded."""
    return stored_positions(run.dataset, choice_of(run), run.seed)


def choice_of(run: Run) -> DatasetChoice | None:
    """None: all rows of its dataset, which it names or which its kind has made."""
    chosen = run.document.get("dataset")
    if not isinstance(chosen, dict) or not any(name in chosen for name in SLICE):
        return None
    return DatasetChoice.model_validate(chosen)


def read_cases(source: CaseSource, configuration: Configuration) -> list[Case]:
    """All that the configuration asks for, in order."""
    return cases_at(source, configuration, source.positions)


def cases_at(
    source: CaseSource, configuration: Configuration, positions: Sequence[int]
) -> list[Case]:
    if source.dataset is not None:
        return stored_cases(source.dataset, configuration, positions)
    column = configuration.expected_column
    return [Case(place, source.given[place], column) for place in sorted(positions)]


def stored_cases(
    dataset: Dataset, configuration: Configuration, positions: Sequence[int]
) -> list[Case]:
    found = CaseRow.objects.filter(dataset=dataset).order_by("position")
    wanted: Any = frozenset(positions)
    if isinstance(positions, range):  # from 0 on
        found, wanted = found.filter(position__lt=positions.stop), positions
    elif len(positions) <= MOST_NAMED:
        found = found.filter(position__in=list(positions))
    column = configuration.expected_column
    rows = found.values_list("position", "fields").iterator()
    return [Case(position, fields, column) for position, fields in rows if position in wanted]
