"""Parts the rows of a dataset by share, and writes into a column of a new version which part each
is in: the same parts as a configuration that says `split: {part: …, of: …, seed: …}`."""

from collections.abc import Collection, Iterator, Mapping

from django.contrib.auth.models import AbstractBaseUser
from pydantic import ValidationError

from runs.models import Dataset
from runs.models.dataset import ColumnRole
from runs.selectors.case_sources import fields_in_order
from runs.services.datasets.roles import describe_columns
from runs.services.datasets.storing import store_rows
from workers.engine.spec.dataset_choice import Split
from workers.engine.spec.slicing import key_of, part_of

USUAL_COLUMN = "split"


class SplitError(ValueError):
    """The rows cannot be parted so. Says why."""


def split_dataset(
    person: AbstractBaseUser | None, dataset: Dataset, shares: Mapping[str, float], seed: int = 0
) -> Dataset:
    """A new version, in which the split column has the part of each row. Equal rows are in the same
    part. DatasetError and NameTakenError as in an import."""
    try:
        split = Split(part=next(iter(shares), ""), of=dict(shares), seed=seed)
    except ValidationError as error:
        first = error.errors()[0]
        told = str(first["msg"]).removeprefix("Value error, ")
        raise SplitError(f"{told.rstrip('.')}. Give at least two parts, as in train=0.8.") from None
    column = dataset.column_for(ColumnRole.SPLIT) or USUAL_COLUMN
    rows = Parted(dataset, split, column)
    stored = store_rows(person, dataset.name, rows, dataset.expected_column, origin=dataset.origin)
    describe_columns(stored, {column: ColumnRole.SPLIT})
    return stored


class Parted(Collection[Mapping[str, str]]):
    """The rows with their parts, read from the database each time they are gone through."""

    def __init__(self, dataset: Dataset, split: Split, column: str) -> None:
        self._dataset, self._split, self._column = dataset, split, column

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        for fields in fields_in_order(self._dataset.pk):
            others = {name: text for name, text in fields.items() if name != self._column}
            yield {**others, self._column: part_of(self._split, key_of(others))}

    def __len__(self) -> int:
        return self._dataset.rows

    def __contains__(self, row: object) -> bool:
        return any(row == one for one in self)
