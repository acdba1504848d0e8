"""Tests of a promptfoo file: each becomes one row or several, with what it asserts."""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.promptfoo.notes import FILE, Notes
from workers.engine.spec.template import PLACEHOLDER

MOST_ROWS = 10_000  # lists of values multiply
MOST_COLUMNS = 200  # as of any dataset; every row has all of them
MOST_ASSERTS = 50  # of one test: each is compared with those of all others
MOST_CHARACTERS = 20 * 1024 * 1024  # of all rows, as of a dataset's file
LONGEST_FILLED = 256 * 1024  # characters, as of any cell; {{name}} again and again multiplies
TOO_LONG = ConfigurationError(
    [
        Problem(
            "tests",
            "The values of the asserts are more than 20 MB over all rows, or one is more "
            "than 256 KB, with {{name}} filled in. Shorten them, or take fewer rows.",
        )
    ]
)
UNDERSTOOD = {"vars", "assert", "description", "metadata"}


class Assertion(NamedTuple):
    path: str
    fields: Mapping[str, Any]


class Test(NamedTuple):
    row: dict[str, str]
    asserts: list[Assertion]


def read_tests(document: Mapping[str, Any], notes: Notes) -> list[Test]:
    given = document.get("tests", [])
    if not isinstance(given, list):
        rows = "Import that file on the page Datasets, then name its dataset in the configuration."
        notes.file("tests", given, rows)
        given = []
    shared = document.get("defaultTest")
    if shared is not None and not isinstance(shared, Mapping):
        notes.file("defaultTest", shared, "Write what all tests share here.")
        shared = None
    common = shared or {}
    note_others(common, "defaultTest", notes)
    of_all = asserts_of(common, "defaultTest", notes)
    found: list[Test] = []
    columns: set[str] = set()
    room = MOST_CHARACTERS
    for number, test in enumerate(given or [{}]):
        path = f"tests.{number}"
        if not isinstance(test, Mapping):
            notes.file(path, test, "Write its tests here, or import that file as a dataset.")
            continue
        note_others(test, path, notes)
        asserts = [*of_all, *asserts_of(test, path, notes)]
        for row in rows_of(common, test, path, notes):
            columns.update(row)
            room -= sum(map(len, row.values()))
            if len(found) >= MOST_ROWS or len(columns) > MOST_COLUMNS or room < 0:
                most = f"{MOST_ROWS:,} rows, {MOST_COLUMNS} columns or 20 MB"
                notes.tell(path, f"More than {most}: this and what follows is left out.")
                return found
            found.append(Test(row, asserts))
    return found


def note_others(test: Mapping[str, Any], path: str, notes: Notes) -> None:
    for name, value in test.items():
        if name == "options" and isinstance(value, Mapping):
            for option in value:
                if option != "provider":
                    notes.unknown(f"{path}.options.{option}", option)
        elif name not in UNDERSTOOD:
            notes.unknown(f"{path}.{name}", name)


def mapping_in(test: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    given = test.get(name)
    return given if isinstance(given, Mapping) else {}


def asserts_of(test: Mapping[str, Any], path: str, notes: Notes) -> list[Assertion]:
    found, given = [], test.get("assert") or []
    for number, fields in enumerate(given if isinstance(given, list) else [given]):
        where = f"{path}.assert.{number}"
        if number == MOST_ASSERTS:
            notes.tell(where, f"More than {MOST_ASSERTS} asserts: these are left out.")
            break
        if isinstance(fields, Mapping) and isinstance(fields.get("type"), str):
            found.append(Assertion(where, {**judge_of(test), **fields}))
        else:
            notes.unknown(where, fields)
    return found


def judge_of(test: Mapping[str, Any]) -> dict[str, Any]:
    given = mapping_in(test, "options").get("provider")
    return {"provider": given} if given else {}


def rows_of(
    common: Mapping[str, Any], test: Mapping[str, Any], path: str, notes: Notes
) -> Iterator[dict[str, str]]:
    """A list of values stands for several tests, one for each."""
    fields: dict[str, list[str]] = {}
    for source, where in ((common, "defaultTest"), (test, path)):
        given = source.get("vars") or {}
        if not isinstance(given, Mapping):
            notes.file(f"{where}.vars", given, "Write the values here, or import a dataset.")
            continue
        for name, value in given.items():
            fields[column_name(str(name))] = texts_of(value, f"{where}.vars.{name}", notes)
    about = {"description": test.get("description"), **metadata_of(test)}
    for name, value in about.items():
        if value is not None and name not in fields:
            fields[column_name(name)] = [text_of(value)]
    for values in product(*fields.values()):
        yield dict(zip(fields, values, strict=True))


def metadata_of(test: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in mapping_in(test, "metadata").items()}


def column_name(name: str) -> str:
    return name[:100] or "column"


def texts_of(value: Any, path: str, notes: Notes) -> list[str]:
    values = value if isinstance(value, list) and value else [value]
    for one in values:
        if isinstance(one, str) and one.startswith(FILE):
            instead = "The column holds its name. Put its text here, or into the dataset."
            notes.file(path, one, instead)
    return [text_of(one) for one in values]


def text_of(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Filling:
    """Fills {{name}} in asserts with the values of rows, as far as a row has them. One place may
    name a long value again and again, and every row has it: there is an end to it."""

    def __init__(self) -> None:
        self._room = MOST_CHARACTERS

    def fill(self, value: Any, row: Mapping[str, str]) -> Any:
        if isinstance(value, list):
            return [self.fill(one, row) for one in value]
        if not isinstance(value, str):
            self._take(text_of(value))
            return value
        left = LONGEST_FILLED

        def put(match: re.Match[str]) -> str:
            nonlocal left
            text = row.get(match[1], match[0])
            left -= len(text)
            if left < 0:
                raise TOO_LONG
            return text

        return self._take(PLACEHOLDER.sub(put, value) if "{{" in value else value)

    def _take(self, text: str) -> str:
        self._room -= len(text)
        if self._room < 0:
            raise TOO_LONG
        return text
