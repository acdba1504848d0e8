"""Reads rows from JSON: an array of objects, or one object a line (JSONL)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from runs.services.datasets.sources import MAX_ROW, RowTooLongError, split_lines
from workers.engine.spec.depth import TOO_DEEP
from workers.engine.spec.line_ends import plain_line_ends

LINE_END = re.compile(r"\n")
SPACE = re.compile(r"[ \t\r\n]*")
LONGEST_WORD = 16  # characters; -Infinity and escapes are shorter
ONE_OBJECT = 'Give one object per row, as in {"question": "2 + 3?", "expected": "5"}.'
# Where the words of Python's parser need its source code to be understood.
PLAIN_WORDS = {
    "Expecting value": "a value is missing or not in quotes",
    "Expecting property name enclosed in double quotes": "a name in double quotes is missing",
    "Expecting ':' delimiter": "a colon is missing",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Unterminated string starting at": "this text has no closing quote",
    "Invalid control character at": "a line break or control character stands inside a text",
    "Extra data": "there is more after the end of the object",
}


class Written(str):
    """A number as the file writes it: 1.0 is not 1 in a prompt."""

    __slots__ = ()


class JsonRow(NamedTuple):
    """One object and the line it starts on, or what is wrong with it."""

    line: int
    fields: dict[str, Any] | None = None
    problem: str = ""
    place: str = ""  # "Row 3: " in an array, where many rows may share a line


class BrokenJsonError(Exception):
    """Nothing after this line can be read."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def read_json(pieces: Iterator[str]) -> Iterator[JsonRow]:
    """Every row. BrokenJsonError where an array cannot be read on; JSONL goes on after a line."""
    window = Window(pieces)
    window.skip_space()
    return _read_array(window) if window.next_character == "[" else _read_lines(window.all())


def as_text(value: Any) -> str:
    """What a prompt gets: texts and numbers as they are, lists and objects as compact JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return plain_line_ends(value)  # quoted fields of CSV and texts of JSON keep theirs
    return str(value) if isinstance(value, int | float) else _compact(value)


def _compact(value: Any) -> str:
    if isinstance(value, Written):
        return str(value)
    if isinstance(value, dict):
        pairs = (f"{_compact(str(name))}:{_compact(part)}" for name, part in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_compact, value))}]"
    plain = plain_line_ends(value) if isinstance(value, str) else value
    return json.dumps(plain, ensure_ascii=False)


class Window:
    """The part of a text that is being read. It moves on row by row, so that they are never all
    in memory."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._text = ""
        self.place = 0  # in the part
        self._lines_before = self._column_before = 0  # what the text had before the part

    @property
    def next_character(self) -> str:
        return self._text[self.place : self.place + 1]

    @property
    def line(self) -> int:
        return self._lines_before + 1 + self._text.count("\n", 0, self.place)

    def all(self) -> Iterator[str]:
        """The whole text, of which only space was read."""
        leading = "\n" * self._lines_before + self._text
        return chain([leading], self._pieces)

    def skip_space(self) -> None:
        self._skip_here()
        while not self.next_character and self._read_more():
            self._skip_here()

    def _skip_here(self) -> None:
        self.place = SPACE.match(self._text, self.place).end()  # type: ignore[union-attr]

    def decode(self) -> Any:
        """The value that begins here. Reads on while it is cut off by the end of the part."""
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self.place)
            except json.JSONDecodeError as error:
                if not self._is_cut(error) or not self._read_more():
                    raise
                continue
            if end < len(self._text) or not self._read_more():
                self.place = min(end, len(self._text))
                return value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated") or error.pos > len(self._text) - LONGEST_WORD

    def _read_more(self) -> bool:
        """False at the end of the text."""
        if len(self._text) - self.place > MAX_ROW:
            raise RowTooLongError
        piece = next((piece for piece in self._pieces if piece), "")
        if not piece:
            return False
        gone = self._text[: self.place]
        self._lines_before += gone.count("\n")
        is_same_line = "\n" not in gone
        self._column_before = (
            len(gone) - gone.rfind("\n") - 1 + (self._column_before if is_same_line else 0)
        )
        self._text, self.place = self._text[self.place :] + piece, 0
        return True

    def broken(self, message: str, prefix: str = "") -> BrokenJsonError:
        """At this place."""
        return self.explained(json.JSONDecodeError(message, self._text, self.place), prefix)

    def explained(self, error: json.JSONDecodeError, prefix: str) -> BrokenJsonError:
        """With the place in the whole text."""
        column = error.colno + (self._column_before if error.lineno == 1 else 0)
        return BrokenJsonError(self._lines_before + error.lineno, prefix + _explain(error, column))


def _read_lines(pieces: Iterator[str]) -> Iterator[JsonRow]:
    number = 0
    try:
        for number, line in enumerate(split_lines(pieces, LINE_END), start=1):
            # Without the line's end: the parser would count its column from there.
            if content := line.rstrip():
                yield _read_line(number, content)
    except RowTooLongError as error:
        raise BrokenJsonError(number + 1, str(error)) from None


def _read_line(number: int, content: str) -> JsonRow:
    try:
        return _row(number, DECODER.decode(content))
    except json.JSONDecodeError as error:
        return JsonRow(number, problem=_explain(error, error.colno))
    except ValueError as error:
        return JsonRow(number, problem=str(error))
    except RecursionError:
        return JsonRow(number, problem=f"A field is {TOO_DEEP}")


def _read_array(window: Window) -> Iterator[JsonRow]:
    window.place += 1  # its opening bracket
    window.skip_space()
    number = 0
    is_open = window.next_character != "]"
    while is_open:
        number += 1
        line = window.line
        row = _row(line, _decode_element(window, number))
        yield row._replace(place=f"Row {number}: ")
        window.skip_space()
        if window.next_character not in {",", "]"}:
            raise window.broken("Expecting ',' delimiter", f"After row {number}: ")
        is_open = window.next_character == ","
        if is_open:
            window.place += 1
            window.skip_space()
    window.place += 1
    window.skip_space()
    if window.next_character:
        raise window.broken("There is more after the end of the array")


def _decode_element(window: Window, number: int) -> Any:
    line = window.line
    try:
        return window.decode()
    except json.JSONDecodeError as error:
        raise window.explained(error, f"Row {number}: ") from None
    except (ValueError, RowTooLongError) as error:
        raise BrokenJsonError(line, f"Row {number}: {error}") from None
    except RecursionError:
        raise BrokenJsonError(line, f"Row {number}: A field is {TOO_DEEP}") from None


def _row(line: int, value: Any) -> JsonRow:
    if isinstance(value, dict):
        return JsonRow(line, value)
    return JsonRow(line, problem=ONE_OBJECT)


def _explain(error: json.JSONDecodeError, column: int) -> str:
    words = PLAIN_WORDS.get(error.msg, error.msg.removesuffix(" at"))
    return f"Not JSON at column {column}: {words}."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON. Give a number, or a text in quotes.")


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        times = Counter(name for name, _ in pairs)
        twins = sorted(name for name, count in times.items() if count > 1)
        raise ValueError(f"A field is given twice: {', '.join(map(repr, twins[:5]))}.")
    return fields


DECODER = json.JSONDecoder(
    parse_int=Written,
    parse_float=Written,
    parse_constant=_refuse_constant,
    object_pairs_hook=_refuse_twins,
)
