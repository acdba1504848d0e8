"""The fields of a schema as rows of a table: type, default, bounds and meaning in words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from workers.engine.kinds import KINDS

WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
}
TITLES = {
    "DatasetChoice": "Dataset",
    "ModelChoice": "Model",
    "ScorerChoice": "Scorer",
    "StrategyChoice": "Strategy",
    "AgentStep": "Agent step",
    "ChatCall": "Call of an agent",
    "TextPart": "Text part",
    "ImagePart": "Image part",
}
MOST_SHOWN = 2**31  # bounds beyond are those of the machine, not of a person


class Piece(NamedTuple):
    """A part of a type's description; with the section that it links to, if it is one."""

    text: str
    target: str = ""


class FieldRow(NamedTuple):
    name: str
    type: list[Piece]
    is_needed: bool
    default: str  # as YAML writes it; empty: there is none
    bounds: str
    meaning: str


def fields_of(schema: Mapping[str, Any], only: Any = None, leave_out: Any = ()) -> list[FieldRow]:
    needed = schema.get("required", [])
    return [
        field_row(name, part, name in needed)
        for name, part in schema.get("properties", {}).items()
        if name not in leave_out and (only is None or name in only)
    ]


def field_row(name: str, schema: Mapping[str, Any], is_needed: bool) -> FieldRow:
    default = schema.get("default")
    if name == "kind":  # of several kinds the first is described
        schema = {**schema, "enum": list(KINDS)}
        schema.pop("const", None)
    return FieldRow(
        name=name,
        type=list(pieces_of(schema)),
        is_needed=is_needed,
        default="" if is_needed or default is None else default_text(default),
        bounds=", ".join(dict.fromkeys(bounds_of(schema))),
        meaning=schema.get("description", ""),
    )


def default_text(default: Any) -> str:
    """Objects whose every field has its default are said by nothing."""
    if isinstance(default, dict):
        return str(default["name"]) if "name" in default else ""
    return yaml_of(default)


def yaml_of(value: Any) -> str:
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return value if isinstance(value, str) and value else json.dumps(value)


def pieces_of(schema: Mapping[str, Any]) -> Iterator[Piece]:
    """A type in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield Piece(title_of(name), anchor_of(name))
    elif choices := schema.get("anyOf") or schema.get("oneOf"):
        # Null is as good as leaving the field out; where it means more, the meaning says so.
        for place, choice in enumerate(one for one in choices if one.get("type") != "null"):
            if place:
                yield Piece(" or ")
            yield from pieces_of(choice)
    elif "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        yield Piece(" | ".join(yaml_of(value) for value in values))
    elif schema.get("type") == "array":
        yield Piece("list of ")
        yield from pieces_of(schema.get("items", {}))
    elif isinstance(inner := schema.get("additionalProperties"), Mapping):
        yield Piece("mapping to ")
        yield from pieces_of(inner)
    else:
        kinds = schema.get("type", "object")
        plain = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
        yield Piece(" or ".join(WORDS[kind] for kind in plain))


def bounds_of(schema: Mapping[str, Any]) -> Iterator[str]:
    for choice in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
        yield from bounds_of(choice)
    low, above, high = (schema.get(k) for k in ("minimum", "exclusiveMinimum", "maximum"))
    if high is not None and abs(high) >= MOST_SHOWN:
        low = high = None
    yield from range_text(low, above, high)
    yield from size_text(schema.get("minLength"), schema.get("maxLength"), "character")
    yield from size_text(schema.get("minItems"), schema.get("maxItems"), "entr", "ies", "y")
    if "pattern" in schema and schema.get("type") == "string" and "/" not in schema["pattern"]:
        yield "letters, digits, _, . and -"


def range_text(low: float | None, above: float | None, high: float | None) -> Iterator[str]:
    if low is not None and high is not None:
        yield f"{number(low)} to {number(high)}"
    elif above is not None and high is not None:
        yield f"above {number(above)}, at most {number(high)}"
    elif low is not None:
        yield f"{number(low)} or more"
    elif above is not None:
        yield f"above {number(above)}"


def size_text(
    least: int | None, most: int | None, word: str, many: str = "s", one: str = ""
) -> Iterator[str]:
    if most is None:
        return
    ending = one if most == 1 else many
    yield f"{least:,} to {most:,} {word}{ending}" if least else f"up to {most:,} {word}{ending}"


def number(value: float) -> str:
    return f"{value:,.10g}" if value != int(value) else f"{int(value):,}"


def title_of(name: str) -> str:
    return TITLES.get(name) or name.removesuffix("Choice")


def anchor_of(name: str) -> str:
    return title_of(name).lower().replace(" ", "-")
