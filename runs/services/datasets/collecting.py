"""Makes a dataset of cases that somebody picked, out of one run or several: a new one, or more rows
for one of theirs."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from django.contrib.auth.models import AbstractBaseUser

from runs.models import Case, Dataset
from runs.selectors.case_sources import fields_in_order
from runs.services.datasets.sources import LineProblem
from runs.services.datasets.storing import (
    DatasetError,
    newest_version,
    refuse_taken,
    store_rows,
)

Row = Mapping[str, str]


def collect_cases(
    person: AbstractBaseUser,
    name: str,
    cases: Iterable[Case],
    *,
    expected: str = "",
    origin: str = "",
) -> Dataset:
    """These cases as a dataset of the person: a new one, or, where the name is theirs already, its
    next version, with the rows of the newest one first. Rows that are there are not added again; if
    none is new, the newest version is the answer. Columns are united, with empty texts where a case
    has none. `expected` is the column of right answers; empty: as in the dataset that grows, else
    as where the cases come from. `origin` says in words where they come from, as in `run 12`.

    The caller has found the cases through `runs.access`. NameTakenError and DatasetError as in an
    import."""
    refuse_taken(person, name)
    picked = list(cases)
    if not picked:
        raise DatasetError([LineProblem(0, "There are no cases. Choose at least one.")])
    grown = newest_version(name.strip())
    sources = Dataset.objects.in_bulk({case.dataset_id for case in picked})
    column = expected or expected_of(grown, [sources[case.dataset_id] for case in picked])
    rows = [row_of(case.fields, sources[case.dataset_id], column) for case in picked]
    columns = list(dict.fromkeys([*(grown.columns if grown else ()), *united(rows)]))
    collected = Collected(grown, columns, rows)
    if grown is not None and not collected.added:
        return grown
    return store_rows(person, name, collected, column, origin=origin)


def expected_of(grown: Dataset | None, sources: Sequence[Dataset]) -> str:
    known = [grown.expected_column] if grown else []
    known += [source.expected_column for source in sources]
    return next(filter(None, known), "")


def row_of(fields: Row, source: Dataset, expected: str) -> Row:
    """With its right answer where the others have theirs, whatever its dataset calls the column."""
    theirs = source.expected_column
    if not expected or not theirs or expected in fields:
        return fields
    return {expected if name == theirs else name: value for name, value in fields.items()}


def united(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


class Collected(Collection[Row]):
    """The rows of the version that grows, read from the database each time, then the new ones."""

    def __init__(self, grown: Dataset | None, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self._grown = grown
        self._columns = columns
        self.added = {key_of(row): row for row in rows}
        for row in self._stored():
            self.added.pop(key_of(row), None)

    def __iter__(self) -> Iterator[Row]:
        for rows in (self._stored(), self.added.values()):
            for row in rows:
                yield {column: row.get(column, "") for column in self._columns}

    def __len__(self) -> int:
        return len(self.added) + (self._grown.rows if self._grown else 0)

    def __contains__(self, row: object) -> bool:
        return any(row == one for one in self)

    def _stored(self) -> Iterator[Row]:
        return fields_in_order(self._grown.pk) if self._grown else iter(())


def key_of(row: Row) -> str:
    """The same for rows that differ only in columns one of them does not have."""
    return json.dumps(sorted(pair for pair in row.items() if pair[1]))
