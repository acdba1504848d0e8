"""Reads datasets row by row, from CSV, JSON or memory, and says line by line what is wrong."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal, NamedTuple

from runs.services.datasets.json_rows import BrokenJsonError, as_text, read_json
from runs.services.datasets.sources import (
    MAX_BYTES,
    MAX_ROW,
    LineProblem,
    RowTooLongError,
    Source,
    UnreadableError,
    check_source,
    split_lines,
    text_pieces,
    too_large,
)
from workers.engine.spec.depth import TOO_DEEP, is_nested, is_too_deep

__all__ = ["MAX_BYTES", "LineProblem", "UnreadableError", "too_large"]

Format = Literal["csv", "jsonl"]
Row = dict[str, str]

MAX_ROWS = 100_000
MAX_FIELD_BYTES = 256 * 1024
MAX_COLUMNS = 200
MAX_COLUMN_NAME = 100  # characters

NO_ROWS: dict[Format, str] = {
    "csv": "There are no rows. Give a header line and at least one row.",
    "jsonl": "There are no rows. Give at least one object.",
}

# One limit for the whole process; its default is half of what a field may have here.
csv.field_size_limit(MAX_FIELD_BYTES)


# A lone carriage return ends a line too; which it is, the next character tells.
CSV_LINE_END = re.compile(r"\r\n|\r(?=[^\n])|\n")


class Line(NamedTuple):
    """A row and where it starts, or what is wrong with it."""

    number: int
    row: Row | None = None
    problem: str = ""
    nested: tuple[str, ...] = ()  # the columns whose list or object became JSON text


def guess_format(source: Source) -> Format:
    """JSONL starts with a brace, an array with a bracket (one reader for both); all else is CSV."""
    start = next(text_pieces(source), "").lstrip("\ufeff \t\r\n")
    return "jsonl" if start[:1] in ("{", "[") else "csv"


def read_lines(source: Source, format: Format) -> Iterator[Line]:
    """Every row with its line number. UnreadableError where reading cannot go on."""
    check_source(source)
    lines = (_read_csv if format == "csv" else _read_jsonl)(text_pieces(source))
    rows = 0
    for line in lines:
        rows += 1
        if rows > MAX_ROWS:
            raise UnreadableError(line.number, _too_many_rows())
        yield line
    if not rows:
        raise UnreadableError(1, NO_ROWS[format])


def read_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    """The same checks for rows that are already in memory; the first counts as line 1."""
    columns: list[str] | None = None
    for number, given in enumerate(rows, start=1):
        if number > MAX_ROWS:
            raise UnreadableError(number, _too_many_rows())
        if columns is None:
            columns = list(given)
            _check_columns(columns, number)
        yield _line(number, given, columns)
    if columns is None:
        raise UnreadableError(1, "There are no rows. Give at least one.")


def _read_csv(pieces: Iterator[str]) -> Iterator[Line]:
    start, columns = 1, None
    lines = CsvLines(pieces)
    try:
        reader = csv.reader(lines, delimiter=lines.find_delimiter(), strict=True)
        for cells in reader:
            number, start = start, reader.line_num + 1
            lines.start_row()
            if not cells:
                continue  # an empty line
            if columns is None:
                columns = [name.strip() for name in cells]
                _check_columns(columns, number)
            elif len(cells) != len(columns):
                yield Line(number, problem=_ragged(len(cells), len(columns)))
            else:
                yield _line(number, dict(zip(columns, cells, strict=True)), columns)
    except csv.Error as error:
        raise UnreadableError(start, _csv_problem(str(error))) from None
    except RowTooLongError as error:
        raise UnreadableError(start, str(error)) from None


class CsvLines:
    """The lines of a file, of which one row may take many but not without end."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._lines = split_lines(pieces, CSV_LINE_END)
        self._of_row = 0  # characters

    def find_delimiter(self) -> str:
        """Spreadsheets paste tabs, and in half of Europe they export semicolons."""
        seen = []
        for line in self._lines:
            seen.append(line)
            if line.strip("\r\n"):
                break
        self._lines = chain(seen, self._lines)
        header = seen[-1] if seen else ""
        return next((mark for mark in ("\t", ",", ";") if mark in header), ",")

    def start_row(self) -> None:
        self._of_row = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._of_row += len(line)
        if self._of_row > MAX_ROW:
            raise RowTooLongError
        return line


def _csv_problem(error: str) -> str:
    if "limit" in error:
        return _too_long("A field")
    if "end of data" in error:
        return 'A quote is opened and never closed. Close it, or double it ("") inside a field.'
    return (
        f"Not CSV ({error}). Put fields with commas, quotes or line breaks in double quotes, "
        'and double the quotes inside ("").'
    )


def _ragged(found: int, expected: int) -> str:
    return (
        f"This row has {found} field{'' if found == 1 else 's'} and the header has {expected}. "
        "Put fields that contain the separator in double quotes."
    )


def _read_jsonl(pieces: Iterator[str]) -> Iterator[Line]:
    columns: list[str] | None = None
    try:
        for found in read_json(pieces):
            if found.fields is None:
                yield Line(found.line, problem=found.place + found.problem)
                continue
            if columns is None:
                columns = list(found.fields)
                _check_columns(columns, found.line)
            line = _line(found.line, found.fields, columns)
            yield line._replace(problem=found.place + line.problem) if line.problem else line
    except BrokenJsonError as error:
        raise UnreadableError(error.line, str(error)) from None


def _line(number: int, given: Mapping[str, Any], columns: list[str]) -> Line:
    """The row with its fields in the order of the columns, or what is wrong with it."""
    if given.keys() != set(columns):
        return Line(number, problem=_wrong_fields(given, columns))
    row: Row = {}
    for name in columns:
        if is_too_deep(given[name]):
            return Line(number, problem=f"{name!r} is {TOO_DEEP}")
        text = as_text(given[name])
        if problem := _text_problem(name, text):
            return Line(number, problem=problem)
        row[name] = text
    return Line(number, row, nested=tuple(name for name in columns if is_nested(given[name])))


def _text_problem(name: str, text: str) -> str:
    if "\x00" in text:
        return f"{name!r} contains a NUL character. Remove it."
    try:
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        return f"{name!r} contains half a character (a lone surrogate). Remove it."
    return _too_long(repr(name)) if size > MAX_FIELD_BYTES else ""


def _wrong_fields(given: Mapping[str, Any], columns: list[str]) -> str:
    missing = [name for name in columns if name not in given][:5]
    unknown = [name for name in given if name not in set(columns)][:5]
    parts = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
    parts += [f"has {', '.join(map(repr, unknown))}, which is new"] if unknown else []
    return f"This row {' and '.join(parts)}. Give every row the fields of the first one."


def _check_columns(columns: list[str], line: int) -> None:
    if len(columns) > MAX_COLUMNS:
        raise UnreadableError(
            line, f"There are {len(columns):,} columns; at most {MAX_COLUMNS} can be imported."
        )
    seen: set[str] = set()
    for place, name in enumerate(columns, start=1):
        if problem := _column_problem(name, place, seen):
            raise UnreadableError(line, problem)
        seen.add(name)
    if not columns:
        raise UnreadableError(line, "There are no columns. Give at least one, such as question.")


def _column_problem(name: str, place: int, seen: set[str]) -> str:
    if not name.strip():
        return f"Column {place} has no name. Name it, or remove the column."
    if name in seen:
        return f"Two columns are named {name[:MAX_COLUMN_NAME]!r}. Rename or remove one."
    if len(name) > MAX_COLUMN_NAME or not name.isprintable():
        return (
            f"The name of column {place} is longer than {MAX_COLUMN_NAME} characters or holds "
            "unprintable ones. Is the first line a header?"
        )
    return ""


def _too_long(what: str) -> str:
    return f"{what} is larger than {MAX_FIELD_BYTES // 1024} KB. Shorten it."


def _too_many_rows() -> str:
    return f"There are more than {MAX_ROWS:,} rows. Split them into several datasets."
