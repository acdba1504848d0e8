"""JSON Schemas that people write: what they may hold, and how one becomes a validator.

A library in Rust compiles and judges them. Its patterns cannot backtrack and it fetches nothing,
but references multiply: thirty definitions that name the next one twice are a billion checks. So
they are counted before anything is compiled; and what has references or patterns is `not plain`,
which means that it is compiled and judged in a process of its own, with limits of time and memory.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import jsonschema_rs
import orjson

LONGEST_SCHEMA = 50_000  # characters
DEEPEST = 200  # steps from a schema into a part of it, or to where a reference points
TOO_DEEP = f"The schema is nested, or refers on, more than {DEEPEST} times."
MOST_CHECKS = 20_000  # of one value: large schemas that people write have some 2,000
MOST_PATTERNS = 100
LONGEST_PATTERN = 1_000  # characters
PATTERN_BYTES = 100_000  # of its program: [a-z]{1,100} takes some 20,000, \p{L}{100} ten million
SCHEMAS_KEPT = 16
PROBLEMS_KEPT = 256  # texts; those without patterns are compiled for it, but not kept

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
ANCHORS = ("$anchor", "$dynamicAnchor")
NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies")
LISTED = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
SINGLE = (
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
NOT_PLAIN = {*REFERENCES, "pattern", "patternProperties", "unevaluatedItems"}
NOT_PLAIN |= {"unevaluatedProperties"}


@lru_cache(maxsize=PROBLEMS_KEPT)
def problem_with_schema(text: str) -> str:
    """Why it is not accepted, found without compiling what may take long. Empty: it is."""
    try:
        document = read(text)
        references = References(document)
        references.count(document)
        check_patterns(document)
        compile_document(without_what_takes_long(document))
    except ValueError as error:
        return str(error)
    return ""


@lru_cache(maxsize=SCHEMAS_KEPT)
def compiled(text: str) -> Any:
    """ValueError says what is wrong with it. On an event loop only if it `is_plain`."""
    if problem := problem_with_schema(text):
        raise ValueError(problem)
    return compile_document(read(text))


def is_plain(text: str) -> bool:
    """Whether the time of compiling and judging it is no more than its length says."""
    try:
        return not any(NOT_PLAIN & one.keys() for one in objects_in(read(text)))
    except ValueError:
        return False


def read(text: str) -> Any:
    if len(text) > LONGEST_SCHEMA:
        raise ValueError(f"The schema has more than {LONGEST_SCHEMA:,} characters. Shorten it.")
    try:
        return orjson.loads(text.encode("utf-8", "replace") or b"{}")
    except orjson.JSONDecodeError as error:
        raise ValueError(f"The schema is no JSON: {error}.") from None


def compile_document(document: Any) -> Any:
    options = jsonschema_rs.RegexOptions(PATTERN_BYTES, PATTERN_BYTES)  # in linear time
    try:
        return jsonschema_rs.validator_for(document, pattern_options=options, offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise ValueError(f"The schema is not accepted: {error}"[:400]) from None


def objects_in(document: Any) -> Iterator[dict[str, Any]]:
    """All of them, also those that are no schemas."""
    left = [(document, 0)]
    while left:
        one, depth = left.pop()
        if depth > DEEPEST:
            raise ValueError(TOO_DEEP)
        if isinstance(one, dict):
            yield one
        if isinstance(one, dict | list):
            parts = one.values() if isinstance(one, dict) else one
            left.extend((part, depth + 1) for part in parts)


class References:
    """Counts how many checks one value may take, following references within the document."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self._counts: dict[int, int] = {}
        self._anchors = {
            one[name]: one
            for one in objects_in(document)
            for name in ANCHORS
            if isinstance(one.get(name), str)
        }

    def count(self, schema: Any, depth: int = 0) -> int:
        """ValueError if there are too many."""
        if not isinstance(schema, dict):
            return 1
        if (known := self._counts.get(id(schema))) is not None:
            return known
        if depth > DEEPEST:
            raise ValueError(TOO_DEEP)
        self._counts[id(schema)] = 1  # of one that holds itself: the value's own depth ends it
        total = 1 + sum(self.count(part, depth + 1) for part in self._parts(schema))
        if total > MOST_CHECKS:
            raise ValueError(
                f"The schema asks for more than {MOST_CHECKS:,} checks of one value, because its "
                "references lead to parts that refer on. Name each part once, or make it smaller."
            )
        self._counts[id(schema)] = total
        return total

    def _parts(self, schema: dict[str, Any]) -> Iterator[Any]:
        for name in NAMED:
            if isinstance(found := schema.get(name), dict):
                yield from found.values()
        for name in LISTED:
            if isinstance(found := schema.get(name), list):
                yield from found
        for name in SINGLE:
            if isinstance(found := schema.get(name), dict):
                yield found
        for name in REFERENCES:
            if isinstance(where := schema.get(name), str):
                yield self._find(where)

    def _find(self, where: str) -> Any:
        begin, is_local, pointer = where.partition("#")
        if begin or not is_local:
            raise ValueError(
                f"The schema is not accepted: {where[:80]!r} is in another document. Write what "
                'it refers to under "$defs", and refer to it as "#/$defs/NAME".'
            )
        if pointer and not pointer.startswith("/"):
            if pointer not in self._anchors:
                raise ValueError(f"The schema is not accepted: it has no {where[:80]!r}.")
            return self._anchors[pointer]
        found = self._document
        for step in unquote(pointer).split("/")[1:]:
            found = step_into(found, step.replace("~1", "/").replace("~0", "~"), where)
        return found


def step_into(found: Any, step: str, where: str) -> Any:
    if isinstance(found, dict) and step in found:
        return found[step]
    if isinstance(found, list) and step.isdecimal() and int(step) < len(found):
        return found[int(step)]
    raise ValueError(f"The schema is not accepted: it has no {where[:80]!r}.")


def check_patterns(document: Any) -> None:
    """Each by itself, within a limit of memory, so that it ends within some milliseconds."""
    patterns = {pattern for one in objects_in(document) for pattern in patterns_of(one)}
    if len(patterns) > MOST_PATTERNS:
        raise ValueError(f"The schema has {len(patterns):,} patterns. Allowed: {MOST_PATTERNS}.")
    for pattern in sorted(patterns):
        if len(pattern) > LONGEST_PATTERN:
            raise ValueError(
                f"The pattern {pattern[:40]!r}… has {len(pattern):,} characters. Allowed: "
                f"{LONGEST_PATTERN:,}."
            )
        try:
            compile_document({"pattern": pattern})
        except ValueError:
            raise ValueError(
                f"The schema is not accepted: the pattern {pattern[:80]!r} is no regular "
                "expression without look-around and back-references, or too large. Make counted "
                "repeats smaller, such as {10} for {1000}, or write * or +."
            ) from None


def patterns_of(schema: dict[str, Any]) -> Iterator[str]:
    if isinstance(pattern := schema.get("pattern"), str):
        yield pattern
    if isinstance(named := schema.get("patternProperties"), dict):
        yield from named


def without_what_takes_long(document: Any) -> Any:
    """The rest of it, whose mistakes can be found by compiling it."""
    if isinstance(document, list):
        return [without_what_takes_long(one) for one in document]
    if not isinstance(document, dict):
        return document
    return {
        name: without_what_takes_long(one)
        for name, one in document.items()
        if not takes_long(name, one)
    }


def takes_long(name: str, value: Any) -> bool:
    """What is of the wrong type stays: the library says so."""
    if name in REFERENCES or name == "pattern":
        return isinstance(value, str)
    return name in NOT_PLAIN and isinstance(value, dict | bool)
