"""Where the cases of a run come from: rows of a stored dataset, rows given in place, or rows that
its kind makes; all of them, or a slice.

A run numbers its cases from 0, in the order of the rows; what is stored, shown and compared is the
row's own position in its dataset.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import QuerySet

from runs.models import Case as CaseRow
from runs.models import Dataset, Run
from runs.selectors.named_parts import find_dataset
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.json_text import to_json
from workers.engine.records import Case
from workers.engine.spec.configuration import Configuration
from workers.engine.spec.dataset_choice import SLICE, DatasetChoice
from workers.engine.spec.expected import guess_expected
from workers.engine.spec.slicing import slice_rows

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
    text = to_json({**choice.slice_document(), "name": dataset.digest}).decode()
    return cut_slice(dataset.pk, tuple(dataset.columns), text, seed)


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
    rows = CaseRow.objects.filter(dataset_id=dataset_id).order_by("position")
    return rows.values_list("fields", flat=True).iterator()


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
