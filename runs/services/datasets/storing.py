"""Imports datasets: all of a file or nothing of it, every import a version that never changes."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError, transaction

from runs.models import Case, Dataset
from runs.services.datasets.reading import (
    Format,
    Line,
    LineProblem,
    Row,
    UnreadableError,
    decode,
    guess_format,
    read_lines,
    read_rows,
    too_large,
)
from workers.engine.spec.expected import guess_expected

__all__ = [
    "DatasetError",
    "LineProblem",
    "NoColumnError",
    "Preview",
    "decode_dataset",
    "guess_format",
    "import_dataset",
    "preview_dataset",
    "set_expected_column",
    "settle_expected",
    "store_made_cases",
    "store_rows",
    "too_large",
]

MOST_PROBLEMS = 50  # shown; a wrong separator makes one problem per row
ROWS_AT_ONCE = 500  # per INSERT; large rows are held in memory several times over
MADE_BY = "cases made by "  # then the kind
VERSION_TRIES = 5  # when several people import under one name at the same moment

Lines = Callable[[], Iterator[Line]]


class DatasetError(Exception):
    """The rows cannot be imported. Lists what is wrong, line by line; nothing was stored."""

    def __init__(self, problems: Sequence[LineProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"line {p.line}: {p.message}" for p in self.problems))


class NoColumnError(DatasetError):
    """What was named as the expected answer is no column."""


@dataclass(slots=True)
class Preview:
    """The first rows of a dataset, how many there are, and everything wrong with them."""

    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    total: int = 0
    problems: list[LineProblem] = field(default_factory=list)
    digest: str = ""
    expected: str = ""  # the column with the expected answers; empty: none
    nested: list[str] = field(default_factory=list)  # columns with lists or objects, as JSON text


def import_dataset(
    owner: AbstractBaseUser | None, name: str, text: str, format: Format, expected: str = ""
) -> Dataset:
    """Store the rows as the next version of the name. DatasetError if a single row is wrong, or if
    `expected` names no column; empty, the column is the one of the version before, or guessed."""
    return _store(owner, name, lambda: read_lines(text, format), expected)


def store_rows(
    owner: AbstractBaseUser | None,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    expected: str = "",
) -> Dataset:
    """The same for rows that are already in memory; problems count rows from 1."""
    return _store(owner, name, lambda: read_rows(rows), expected)


def store_made_cases(kind: str, rows: Sequence[Mapping[str, str]]) -> Dataset:
    """The cases that a kind makes for its run, as a version that is listed nowhere; the same cases
    again are the same version, so that runs on them can be compared."""
    return _store(None, f"{MADE_BY}{kind}", lambda: read_rows(rows), "", is_hidden=True)


def preview_dataset(text: str, format: Format, limit: int = 20) -> Preview:
    """Read everything, keep the first rows, store nothing."""
    return _survey(lambda: read_lines(text, format), limit)


def settle_expected(name: str, columns: Sequence[str], chosen: str) -> str:
    """The column with the expected answers: the one chosen, that of the newest version, or a guess.
    NoColumnError if there is none of that name."""
    if chosen and chosen not in columns:
        told = f"There is no column {chosen!r} for the expected answer. The columns are: "
        raise NoColumnError([LineProblem(1, f"{told}{', '.join(columns)}.")])
    newest = _newest(name.strip())
    before = newest.expected_column if newest else ""
    return chosen or (before if before in columns else "") or guess_expected(columns)


def set_expected_column(dataset: Dataset, column: str) -> None:
    """Say which column of a stored version holds the expected answers; empty: none. Runs that were
    launched keep theirs."""
    if column:
        settle_expected(dataset.name, dataset.columns, column)
    dataset.expected_column = column
    dataset.save(update_fields=["expected_column"])


def _newest(name: str) -> Dataset | None:
    return Dataset.objects.filter(name=name).order_by("-version").first()


def _same_made_cases(name: str, digest: str) -> Dataset | None:
    """Locked: nobody removes it as unused before the run that asks for it is stored."""
    same = Dataset.objects.select_for_update().filter(name=name, digest=digest, is_hidden=True)
    return same.first()


def decode_dataset(data: bytes) -> str:
    """The text of a file. DatasetError names the byte that is not UTF-8."""
    try:
        return decode(data)
    except UnreadableError as error:
        raise DatasetError([error.problem]) from None


def _store(
    owner: AbstractBaseUser | None,
    name: str,
    lines: Lines,
    expected: str,
    *,
    is_hidden: bool = False,
) -> Dataset:
    # Two passes over the rows instead of a copy of them: memory stays flat.
    survey = _survey(lines, limit=0)
    problems = ([] if is_hidden else _name_problems(name)) + survey.problems
    if problems:
        raise DatasetError(problems)
    survey.expected = settle_expected(name, survey.columns, expected)
    for _ in range(VERSION_TRIES):
        try:
            if is_hidden and (same := _same_made_cases(name, survey.digest)):
                return same
            return _add_version(owner, name.strip(), survey, lines, expected, is_hidden)
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
    is_hidden: bool,
) -> Dataset:
    newest = _newest(name)
    if newest is not None and newest.archived:  # who imports a name wants to use it
        Dataset.objects.filter(name=name).update(archived=None)
        newest.archived = None
    if newest is not None and newest.digest == survey.digest:
        if chosen:
            set_expected_column(newest, chosen)
        return newest  # the same rows again: runs stay comparable
    dataset = Dataset(
        name=name,
        version=newest.version + 1 if newest else 1,
        columns=survey.columns,
        rows=survey.total,
        expected_column=survey.expected,
        digest=survey.digest,
        owner_id=owner.pk if owner else None,
        is_hidden=is_hidden,
    )
    dataset.save()
    dataset.is_new = True
    cases = (
        Case(dataset=dataset, position=position, fields=line.row)
        for position, line in enumerate(lines())
    )
    while batch := list(islice(cases, ROWS_AT_ONCE)):
        Case.objects.bulk_create(batch)
    return dataset


def _survey(lines: Lines, limit: int) -> Preview:
    """One pass: count, check, and take the digest."""
    found, digest, left_out = Preview(), hashlib.sha256(), 0
    try:
        for line in lines():
            if line.row is None:
                left_out += _note(found, LineProblem(line.number, line.problem))
                continue
            found.columns = found.columns or list(line.row)
            found.total += 1
            found.nested += [name for name in line.nested if name not in found.nested]
            if len(found.rows) < limit:
                found.rows.append(line.row)
            digest.update(json.dumps(list(line.row.items())).encode() + b"\n")
    except UnreadableError as error:
        left_out += _note(found, error.problem)
    if left_out:
        last = found.problems[-1].line
        found.problems.append(LineProblem(last, f"… and {left_out:,} more problems after this."))
    found.digest = digest.hexdigest()
    return found


def _note(found: Preview, problem: LineProblem) -> int:
    """Keep the problem, or count it if there are enough."""
    if len(found.problems) >= MOST_PROBLEMS:
        return 1
    found.problems.append(problem)
    return 0


def _name_problems(name: str) -> list[LineProblem]:
    plain = name.strip()
    if not plain or len(plain) > 120 or not plain.isprintable():
        return [LineProblem(1, "A dataset's name has 1 to 120 printable characters.")]
    if plain.startswith(MADE_BY):
        told = f"A name cannot begin with “{MADE_BY.strip()}”: so are called the cases of a kind."
        return [LineProblem(1, told)]
    if re.search(r"@\d+$", plain):
        return [
            LineProblem(
                1, "A name cannot end in @ and a number, as in sums@3: that names a version."
            )
        ]
    return []
