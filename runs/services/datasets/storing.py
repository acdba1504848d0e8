"""Imports datasets: all of a file or nothing of it, every import a version that never changes."""

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from runs.models import Case, Dataset
from runs.selectors.quotas import quota_of
from runs.services.datasets.names import MADE_BY, PASTED, is_taken, problem_with_name
from runs.services.datasets.reading import Format, guess_format, read_lines, read_rows
from runs.services.datasets.roles import settle_roles
from runs.services.datasets.sources import LineProblem, Source
from runs.services.datasets.surveying import Lines, Preview, survey_lines
from runs.services.people.sharing import share_dataset
from runs.services.quotas import QuotaExceeded, check_storage, lock_person
from workers.engine.spec.expected import guess_expected

__all__ = [
    "DatasetError",
    "LineProblem",
    "NameTakenError",
    "NoColumnError",
    "Preview",
    "guess_format",
    "import_dataset",
    "newest_version",
    "preview_dataset",
    "refuse_taken",
    "set_expected_column",
    "settle_expected",
    "store_made_cases",
    "store_pasted_rows",
    "store_rows",
]

# In one INSERT: rows are held in memory several times over.
ROWS_AT_ONCE = 500
CHARACTERS_AT_ONCE = 1_000_000
LONGEST_ORIGIN = 300  # characters, as in the table
VERSION_TRIES = 5  # when several people import under one name at the same moment


class DatasetError(Exception):
    """The rows cannot be imported. Lists what is wrong, line by line; nothing was stored."""

    def __init__(self, problems: Sequence[LineProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"line {p.line}: {p.message}" for p in self.problems))


class NoColumnError(DatasetError):
    """What was named as the expected answer is no column."""


class NameTakenError(DatasetError):
    """The name is that of somebody else's dataset."""


def import_dataset(
    owner: AbstractBaseUser | None,
    name: str,
    source: Source,
    format: Format,
    expected: str = "",
    *,
    share: bool = False,
) -> Dataset:
    """Store the rows as the next version of the name. DatasetError if a single row is wrong, if the
    name is somebody else's, or if `expected` names no column; empty, the column is the one of the
    version before, or guessed. Without `share` it is as private as the version before; a new name
    is private. Without an owner it is the host's operator who imports, to any name."""
    return _store(owner, name, lambda: read_lines(source, format), expected, share=share)


def store_rows(
    owner: AbstractBaseUser | None,
    name: str,
    rows: Collection[Mapping[str, Any]],
    expected: str = "",
    *,
    share: bool = False,
    origin: str = "",
) -> Dataset:
    """The same for rows that are no file: they are gone through twice. Problems count rows from 1.
    `origin` says in words where they come from."""
    return _store(owner, name, lambda: read_rows(rows), expected, share=share, origin=origin)


def store_made_cases(kind: str, rows: Sequence[Mapping[str, str]]) -> Dataset:
    """The cases that a kind makes for its run, as a version that is listed nowhere; the same cases
    again are the same version, so that runs on them can be compared."""
    name = f"{MADE_BY}{kind}"
    return _store(None, name, lambda: read_rows(rows), twins=_hidden(None).filter(name=name))


def store_pasted_rows(owner: AbstractBaseUser, rows: Sequence[Mapping[str, Any]]) -> Dataset:
    """Rows that came with a run: listed nowhere, and only seen by whoever may see a run on them.
    The same rows of the same person again are the same dataset."""
    name = f"{PASTED}{secrets.token_hex(4)}"
    return _store(owner, name, lambda: read_rows(rows), twins=_hidden(owner))


def preview_dataset(source: Source, format: Format, limit: int = 20) -> Preview:
    """Read everything, keep the first rows, store nothing."""
    return survey_lines(lambda: read_lines(source, format), limit)


def refuse_taken(owner: AbstractBaseUser | None, name: str) -> None:
    """NameTakenError if somebody else has a dataset of that name."""
    if is_taken(owner, name):
        told = f"There is a dataset {name.strip()!r} of somebody else already. Choose another name."
        raise NameTakenError([LineProblem(1, told)])


def settle_expected(name: str, columns: Sequence[str], chosen: str) -> str:
    """The column with the expected answers: the one chosen, that of the newest version, or a guess.
    NoColumnError if there is none of that name."""
    if chosen and chosen not in columns:
        told = f"There is no column {chosen!r} for the expected answer. The columns are: "
        raise NoColumnError([LineProblem(1, f"{told}{', '.join(columns)}.")])
    newest = newest_version(name.strip())
    before = newest.expected_column if newest else ""
    return chosen or (before if before in columns else "") or guess_expected(columns)


def set_expected_column(dataset: Dataset, column: str) -> None:
    """Say which column of a stored version holds the expected answers; empty: none. Runs that were
    launched keep theirs."""
    if column:
        settle_expected(dataset.name, dataset.columns, column)
    dataset.expected_column = column
    dataset.save(update_fields=["expected_column"])


def newest_version(name: str) -> Dataset | None:
    return Dataset.objects.filter(name=name).order_by("-version").first()


def _hidden(owner: AbstractBaseUser | None) -> QuerySet[Dataset]:
    return Dataset.objects.filter(is_hidden=True, owner_id=owner.pk if owner else None)


def _same_rows(twins: QuerySet[Dataset], digest: str) -> Dataset | None:
    """Locked: nobody removes it as unused before the run that asks for it is stored."""
    return twins.select_for_update().filter(digest=digest).first()


def _store(
    owner: AbstractBaseUser | None,
    name: str,
    lines: Lines,
    expected: str = "",
    *,
    share: bool = False,
    origin: str = "",
    twins: QuerySet[Dataset] | None = None,
) -> Dataset:
    """With `twins` it is hidden, and one of them if it has the same rows."""
    is_hidden = twins is not None
    # Two passes over the rows instead of a copy of them: memory stays flat.
    survey = survey_lines(lines, limit=0)
    wrong_name = "" if is_hidden else problem_with_name(name)
    problems = [LineProblem(1, wrong_name)] if wrong_name else []
    if problems or survey.problems:
        raise DatasetError(problems + survey.problems)
    refuse_taken(owner, name)
    survey.expected = settle_expected(name, survey.columns, expected)
    for _ in range(VERSION_TRIES):
        try:
            if twins is not None and (same := _same_rows(twins, survey.digest)):
                return same
            dataset = _add_version(owner, name.strip(), survey, lines, expected, origin, is_hidden)
            if share:
                share_dataset(dataset, owner, is_shared=True)
            return dataset
        except IntegrityError:
            continue  # somebody else took the version number
    raise DatasetError(
        [LineProblem(1, f"Too many imports of {name!r} at the same moment. Try again.")]
    )


@transaction.atomic
def _add_version(
    owner: AbstractBaseUser | None,
    name: str,
    survey: Preview,
    lines: Lines,
    chosen: str,
    origin: str,
    is_hidden: bool,
) -> Dataset:
    refuse_taken(owner, name)  # again: somebody may have been faster
    newest = newest_version(name)
    if newest is not None and newest.archived:  # who imports a name wants to use it
        Dataset.objects.filter(name=name).update(archived=None, remove_after=None)
        newest.archived = newest.remove_after = None
    if newest is not None and newest.digest == survey.digest:
        if chosen:
            set_expected_column(newest, chosen)
        return newest  # the same rows again: runs stay comparable
    if owner is not None:
        refuse_if_full(owner, survey.size)
    dataset = Dataset(
        name=name,
        version=newest.version + 1 if newest else 1,
        columns=survey.columns,
        rows=survey.total,
        expected_column=survey.expected,
        roles=settle_roles(newest, survey.columns, survey.expected),
        origin=origin[:LONGEST_ORIGIN],
        digest=survey.digest,
        size=survey.size,
        owner_id=newest.owner_id if newest else owner.pk if owner else None,
        is_shared=bool(newest and newest.is_shared),
        team_id=newest.team_id if newest else None,
        is_hidden=is_hidden,
    )
    dataset.save()
    dataset.is_new = True
    cases = (
        Case(dataset=dataset, position=position, fields=line.row)
        for position, line in enumerate(lines())
    )
    for batch in _batches(cases):
        Case.objects.bulk_create(batch)
    return dataset


def refuse_if_full(owner: AbstractBaseUser, size: int) -> None:
    lock_person(owner)
    try:
        check_storage(owner, quota_of(owner), size)
    except QuotaExceeded as error:
        raise DatasetError([LineProblem(1, error.problems[0].message)]) from None


def _batches(cases: Iterator[Case]) -> Iterator[list[Case]]:
    batch: list[Case] = []
    characters = 0
    for case in cases:
        batch.append(case)
        characters += sum(map(len, case.fields.values()))
        if len(batch) >= ROWS_AT_ONCE or characters >= CHARACTERS_AT_ONCE:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch
