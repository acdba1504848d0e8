"""The schema of a configuration as a reference: every object and field, for a page and a file.

Everything comes from the pydantic models, so that a new field is described when it is there.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from workers.engine.kinds import DEFAULT_KIND, KINDS
from workers.engine.scorers import SCORERS
from workers.engine.spec.configuration import Configuration, Limits
from workers.engine.spec.presets import DEFAULT_PRESET, OTHER_NAMES, PRESETS
from workers.engine.strategies import SELECTIONS
from workers.engine.strategies.options import Options

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


class Section(NamedTuple):
    """One object, or one choice of a scorer or a strategy."""

    anchor: str
    title: str
    about: str
    fields: list[FieldRow]


class Table(NamedTuple):
    """Numbers beside the fields, such as the presets."""

    anchor: str
    title: str
    about: str
    heads: list[str]
    rows: list[list[str]]


class Part(NamedTuple):
    """A group of sections on the page."""

    anchor: str
    title: str
    about: str
    sections: list[Section]
    tables: list[Table] = []


def reference() -> list[Part]:
    return [kinds_part(), objects_part(), limits_part(), scorers_part(), strategies_part()]


def kinds_part() -> Part:
    common = Configuration.model_fields.keys()
    every = fields_of(KINDS[DEFAULT_KIND].model_json_schema(), only=common)
    sections = [
        Section("every-kind", "Fields of every kind", "", every),
        *(
            Section(
                f"kind-{name}",
                f"Kind {name}",
                summary_of(kind).removeprefix(f"Kind `{name}`: ").capitalize(),
                fields_of(kind.model_json_schema(), leave_out=common),
            )
            for name, kind in KINDS.items()
        ),
    ]
    about = "A configuration is one mapping. Fields that are not listed here are refused."
    return Part("kinds", "Kinds", about, sections)


def objects_part() -> Part:
    """What fields hold, in the order in which they are met."""
    sections = [
        object_section(name, schema)
        for name, schema in definitions().items()
        if name not in ("Limits", "ScorerChoice", "StrategyChoice")
    ]
    return Part("objects", "Objects", "What the fields above hold.", sections)


def limits_part() -> Part:
    names = list(PRESETS[DEFAULT_PRESET])
    presets = Table(
        "presets",
        "Presets",
        f"Values of the fields that are not given; {DEFAULT_PRESET} if no preset is named.",
        ["preset", *names],
        [[name, *(yaml_of(values[field]) for field in names)] for name, values in PRESETS.items()],
    )
    others = Table(
        "other-names",
        "Other names",
        "These names are understood, too. max_concurrent_requests counts the calls of one "
        "candidate: it is multiplied by max_concurrent_candidates.",
        ["also written", "is"],
        [*map(list, OTHER_NAMES.items()), ["max_concurrent_requests", "max_concurrent"]],
    )
    section = object_section("Limits", definitions()["Limits"])
    fields = [row._replace(default=limit_default(row.name)) for row in section.fields]
    about = "How fast a run goes, and what it does when a call fails or takes long."
    described = section._replace(title="Fields of limits", fields=fields)
    return Part("speed", "Limits", about, [described], [presets, others])


def limit_default(name: str) -> str:
    if name in PRESETS[DEFAULT_PRESET]:
        return "the preset's"
    default = Limits.model_fields[name].default
    return "" if default is None else yaml_of(default)


def scorers_part() -> Part:
    sections = [
        object_section("ScorerChoice", definitions()["ScorerChoice"]),
        *(
            Section(f"scorer-{name}", name, scorer.summary, fields_of(scorer.model_json_schema()))
            for name, scorer in SCORERS.items()
        ),
    ]
    about = "Written by name, as in exact, or with options, as in {numeric: {tolerance: 0.001}}."
    return Part("scorers", "Scorers", about, sections)


def strategies_part() -> Part:
    common = Options.model_fields.keys()
    every = Section(
        "strategy",
        "Options of every strategy",
        "Options stand beside the name, as in {name: arm_elimination, batch: 20}.",
        fields_of(Options.model_json_schema()),
    )
    sections = [
        Section(
            f"strategy-{name}",
            name,
            f"{strategy.label}. {strategy.when}",
            own_options(strategy.options_type, common),
        )
        for name, strategy in SELECTIONS.items()
    ]
    about = "How a run of kind select spends its calls. Written by name, or with options."
    return Part("strategies", "Strategies", about, [every, *sections])


def own_options(model: type[BaseModel], common: Any) -> list[FieldRow]:
    """Those that others do not have, and those with another default or meaning."""
    shared = {row.name: row for row in fields_of(Options.model_json_schema())}
    rows = fields_of(model.model_json_schema())
    return [row for row in rows if row.name not in common or row != shared[row.name]]


def definitions() -> dict[str, dict[str, Any]]:
    """Every object that a configuration may hold, by the name of its model, in the order in which
    a reader meets them."""
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS.values():
        schema = kind.model_json_schema()
        names = names_in(schema["properties"])
        while names:
            name = names.pop(0)
            if name not in found:
                found[name] = schema["$defs"][name]
                names = names_in(found[name]) + names
    return found


def names_in(schema: Any) -> list[str]:
    """Of the objects that a schema refers to."""
    return re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema))


def object_section(name: str, schema: Mapping[str, Any]) -> Section:
    choices = schema.get("anyOf", [])
    full = next((one for one in choices if "description" in one), schema)
    about = " ".join(full.get("description", "").split())
    return Section(anchor_of(name), title_of(name), about, fields_of(full))


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
    return TITLES.get(name, name)


def anchor_of(name: str) -> str:
    return title_of(name).lower().replace(" ", "-")


def summary_of(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())
