"""Reads rows from JSON: an array of objects, or one object a line (JSONL)."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from workers.engine.spec.line_ends import plain_line_ends

LINES = re.compile(r"[^\n]*\n|[^\n]+")
SPACE = re.compile(r"[ \t\r\n]*")
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


def read_json(text: str) -> Iterator[JsonRow]:
    """Every row. BrokenJsonError where an array cannot be read on; JSONL goes on after a line."""
    start = SPACE.match(text).end()  # type: ignore[union-attr]  # matches also nothing
    return _read_array(text, start) if text[start : start + 1] == "[" else _read_lines(text)


def as_text(value: Any) -> str:
    """What a prompt gets: texts and numbers as they are, lists and objects as compact JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return plain_line_ends(value)  # quoted fields of CSV and texts of JSON keep theirs
    return str(value) if isinstance(value, int | float) else _compact(value)


def is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple | dict)


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


def _read_lines(text: str) -> Iterator[JsonRow]:
    for number, match in enumerate(LINES.finditer(text), start=1):
        # Without the line's end: the parser would count its column from there.
        content = match[0].rstrip()
        if not content:
            continue
        try:
            value = DECODER.decode(content)
        except json.JSONDecodeError as error:
            yield JsonRow(number, problem=_explain(error))
        except ValueError as error:
            yield JsonRow(number, problem=str(error))
        except RecursionError:
            yield JsonRow(number, problem=_too_deep())
        else:
            yield _row(number, value)


def _read_array(text: str, opening: int) -> Iterator[JsonRow]:
    """Object by object, so that the rows are never all in memory."""
    line = 1 + text.count("\n", 0, opening)
    seen, place = opening, _after_space(text, opening + 1)
    number = 0
    is_open = text[place : place + 1] != "]"
    while is_open:
        number += 1
        line, seen = line + text.count("\n", seen, place), place
        value, end = _decode_element(text, place, line, number)
        row = _row(line, value)
        yield row._replace(place=f"Row {number}: ")
        end = _after_space(text, end)
        if text[end : end + 1] not in {",", "]"}:
            error = json.JSONDecodeError("Expecting ',' delimiter", text, end)
            raise BrokenJsonError(error.lineno, f"After row {number}: {_explain(error)}")
        is_open = text[end] == ","
        place = _after_space(text, end + 1) if is_open else end
    rest = _after_space(text, place + 1)
    if rest < len(text):
        error = json.JSONDecodeError("There is more after the end of the array", text, rest)
        raise BrokenJsonError(error.lineno, _explain(error))


def _decode_element(text: str, place: int, line: int, number: int) -> tuple[Any, int]:
    try:
        return DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        raise BrokenJsonError(error.lineno, f"Row {number}: {_explain(error)}") from None
    except ValueError as error:
        raise BrokenJsonError(line, f"Row {number}: {error}") from None
    except RecursionError:
        raise BrokenJsonError(line, f"Row {number}: {_too_deep()}") from None


def _after_space(text: str, place: int) -> int:
    return SPACE.match(text, place).end()  # type: ignore[union-attr]  # matches also nothing


def _row(line: int, value: Any) -> JsonRow:
    if isinstance(value, dict):
        return JsonRow(line, value)
    return JsonRow(line, problem=ONE_OBJECT)


def _explain(error: json.JSONDecodeError) -> str:
    words = PLAIN_WORDS.get(error.msg, error.msg.removesuffix(" at"))
    return f"Not JSON at column {error.colno}: {words}."


def _too_deep() -> str:
    return "A field is nested too deeply. Give fewer lists inside lists."


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON. Give a number, or a text in quotes.")


def _refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twins = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"A field is given twice: {', '.join(map(repr, twins[:5]))}.")
    return dict(pairs)


DECODER = json.JSONDecoder(
    parse_int=Written,
    parse_float=Written,
    parse_constant=_refuse_constant,
    object_pairs_hook=_refuse_twins,
)
