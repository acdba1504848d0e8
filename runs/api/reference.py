"""The OpenAPI document as a page can show it: groups, routes, fields, objects."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from runs.api.examples import EXAMPLES, as_curl, as_python

HIDDEN = re.compile(r"^(Page_|.*Query$)")  # shown with the routes that use them


class Piece(NamedTuple):
    """A part of a type's description; with the object that it links to, if it is one."""

    text: str
    target: str = ""


class Words(NamedTuple):
    text: str
    is_code: bool = False


class FieldRow(NamedTuple):
    name: str
    type: list[Piece]
    is_required: bool
    description: list[Words]
    place: str = ""  # query, path or header


class RouteEntry(NamedTuple):
    id: str
    method: str
    path: str
    summary: str
    description: list[Words]
    scope: str
    parameters: list[FieldRow]
    bodies: list[tuple[str, list[Piece]]]  # by media type
    answers: list[tuple[str, list[Piece]]]  # by status
    curl: str
    python: str


class Group(NamedTuple):
    name: str
    anchor: str
    routes: list[RouteEntry]


class ObjectEntry(NamedTuple):
    name: str
    description: list[Words]
    fields: list[FieldRow]
    forms: list[list[Piece]]  # other ways to write it


class Reference(NamedTuple):
    groups: list[Group]
    objects: list[ObjectEntry]


def read_reference(document: dict[str, Any]) -> Reference:
    groups: dict[str, list[RouteEntry]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            entry = route_entry(method, path, operation)
            groups.setdefault(operation["tags"][0], []).append(entry)
    schemas = document["components"]["schemas"]
    return Reference(
        [Group(name, anchor_of(name), routes) for name, routes in groups.items()],
        [object_entry(name, schemas[name]) for name in sorted(schemas) if not HIDDEN.match(name)],
    )


def words_of(text: str) -> list[Words]:
    """What stands between backticks is code."""
    parts = text.split("`")
    return [Words(part, is_code=bool(place % 2)) for place, part in enumerate(parts) if part]


def anchor_of(name: str) -> str:
    return name.lower().replace(" ", "-")


def route_entry(method: str, path: str, operation: dict[str, Any]) -> RouteEntry:
    example = EXAMPLES[operation["operationId"]]
    bodies = operation.get("requestBody", {}).get("content", {})
    return RouteEntry(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=words_of(operation["description"]),
        scope=operation["x-scope"],
        parameters=[parameter_row(parameter) for parameter in operation["parameters"]],
        bodies=[(kind, list(pieces_of(body["schema"]))) for kind, body in bodies.items()],
        answers=[
            (str(status), list(answer_pieces(answer)))
            for status, answer in operation["responses"].items()
            if int(status) < 400
        ],
        curl=as_curl(example),
        python=as_python(example),
    )


def answer_pieces(answer: dict[str, Any]) -> Iterator[Piece]:
    for kind, content in answer.get("content", {}).items():
        if kind == "application/json":
            yield from pieces_of(content["schema"])
        elif kind == "text/event-stream":
            yield Piece(f"{kind} of ")
            yield from pieces_of(content["schema"])


def parameter_row(parameter: dict[str, Any]) -> FieldRow:
    return FieldRow(
        parameter["name"],
        list(pieces_of(parameter["schema"])),
        parameter["required"],
        words_of(parameter.get("description", "")),
        parameter["in"],
    )


def object_entry(name: str, schema: dict[str, Any]) -> ObjectEntry:
    choices = schema.get("anyOf", [])
    full = next((choice for choice in choices if "required" in choice), schema)
    needed = full.get("required", [])
    fields = [
        FieldRow(
            field, list(pieces_of(part)), field in needed, words_of(part.get("description", ""))
        )
        for field, part in full.get("properties", {}).items()
    ]
    others = [list(pieces_of(choice)) for choice in choices if choice is not full]
    if not fields and not others:
        others = [list(pieces_of(schema))]
    return ObjectEntry(name, words_of(full.get("description", "")), fields, others)


def pieces_of(schema: dict[str, Any]) -> Iterator[Piece]:
    """A type in words."""
    if "$ref" in schema:
        yield from reference_pieces(schema["$ref"].rpartition("/")[2])
    elif choices := schema.get("anyOf"):
        for place, choice in enumerate(choices):
            if place:
                yield Piece(" or ")
            yield from pieces_of(choice)
    elif "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        yield Piece(" | ".join("false" if value is False else str(value) for value in values))
    elif schema.get("type") == "array":
        yield Piece("list of ")
        yield from pieces_of(schema.get("items", {}))
    elif isinstance(inner := schema.get("additionalProperties"), dict):
        yield Piece("map to ")
        yield from pieces_of(inner)
    else:
        yield Piece(plain_text(schema))


def reference_pieces(name: str) -> Iterator[Piece]:
    if name.startswith("Page_"):
        inner = name.removeprefix("Page_").rstrip("_")
        yield Piece("{data: list of ")
        yield Piece(inner, inner)
        yield Piece(", next_cursor, as_of}")
    else:
        yield Piece(name, name)


def plain_text(schema: dict[str, Any]) -> str:
    kind = schema.get("type", "anything")
    named = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if named == "object" and "properties" in schema:
        named = f"{{{', '.join(schema['properties'])}}}"
    return " ".join([named, *bounds_of(schema)])


def bounds_of(schema: dict[str, Any]) -> Iterator[str]:
    if schema.get("format") == "date-time":
        yield "(a moment)"
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum")
    if low is not None and high is not None and high < 2**31:
        yield f"{low:,} to {high:,}"
    if "maxLength" in schema:
        yield f"up to {schema['maxLength']:,} characters"
