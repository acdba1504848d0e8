"""Reads an answer as JSON into a flat list of parts, which `parts/json_tree.html` writes: lists and
objects fold, values are text."""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import orjson

from workers.engine.spec.depth import is_nested, without_deep_parts

LONGEST = 200_000  # characters that are read
MOST_PARTS = 4_000  # written to a page
LONGEST_VALUE = 2_000  # characters of one text
OPEN_LEVELS = 3  # unfolded at first

# Models like to put JSON into a code block.
_FENCE = re.compile(r"\A\s*```[a-zA-Z]{0,10}[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)

Kind = Literal["open", "close", "value"]


class Part(NamedTuple):
    kind: Kind
    name: str = ""  # the key or the place within what holds it
    text: str = ""  # a value, or how many are inside
    is_unfolded: bool = False


class JsonTree(NamedTuple):
    parts: list[Part]
    is_cut: bool = False
    problem: str = ""  # why it cannot be read


def read_json(text: str) -> JsonTree:
    if len(text) > LONGEST:
        return JsonTree([], problem=f"It is longer than {LONGEST:,} characters.")
    fenced = _FENCE.match(text)
    try:
        value = without_deep_parts(orjson.loads(fenced.group(1) if fenced else text))
    except (orjson.JSONDecodeError, UnicodeEncodeError) as error:
        return JsonTree([], problem=f"It is not JSON: {error}.")
    parts: list[Part] = []
    open_parts = 0
    for part in _parts("", value, level=0):
        if len(parts) >= MOST_PARTS:
            return JsonTree([*parts, *[Part("close")] * open_parts], is_cut=True)
        open_parts += (part.kind == "open") - (part.kind == "close")
        parts.append(part)
    return JsonTree(parts)


def _parts(name: str, value: Any, level: int) -> Iterator[Part]:
    if not is_nested(value):
        yield Part("value", name, _text_of(value))
        return
    if isinstance(value, dict):
        inside = [(str(key), one) for key, one in value.items()]
        size = f"{{{len(inside):,}}}"
    else:
        inside = [(str(place), one) for place, one in enumerate(value)]
        size = f"[{len(inside):,}]"
    yield Part("open", name, size, level < OPEN_LEVELS)
    for key, one in inside:
        yield from _parts(key, one, level + 1)
    yield Part("close")


def _text_of(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
