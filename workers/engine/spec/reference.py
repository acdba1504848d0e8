"""The schema of a configuration as a reference: every object and field, for a page and a file.

Everything comes from the pydantic models, so that a new field is described when it is there.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from workers.engine.agents import AGENTS
from workers.engine.kinds import DEFAULT_KIND, KINDS
from workers.engine.named import Named, NamedChoice, Registry
from workers.engine.named.named import summary_of
from workers.engine.named.options import properties_of, schema_of
from workers.engine.scorers import SCORERS, BaseScorer
from workers.engine.spec.configuration import Configuration, Limits, OwnRegistry
from workers.engine.spec.field_rows import FieldRow, Piece, anchor_of, fields_of, title_of, yaml_of
from workers.engine.spec.presets import DEFAULT_PRESET, EFFECTS, PRESETS, written_otherwise
from workers.engine.strategies import SELECTIONS
from workers.engine.strategies.options import Options

__all__ = ["FieldRow", "Part", "Piece", "Section", "Table", "reference"]


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
    effects: list[str] = []  # of each row, in words

    @property
    def lines(self) -> list[tuple[list[str], str]]:
        return list(zip(self.rows, self.effects or [""] * len(self.rows), strict=True))


Schema = Mapping[str, Any]


class Part(NamedTuple):
    """A group of sections on the page."""

    anchor: str
    title: str
    about: str
    sections: list[Section]
    tables: list[Table] = []


def reference() -> list[Part]:
    named = [scorers_part(), strategies_part(), agents_part(), *own_parts()]
    schemas = {name: kind.model_json_schema() for name, kind in KINDS.items()}
    objects = definitions(schemas.values())
    return [kinds_part(schemas), objects_part(objects), limits_part(objects["Limits"]), *named]


def kinds_part(schemas: Mapping[str, Schema]) -> Part:
    common = Configuration.model_fields.keys()
    every = fields_of(schemas[DEFAULT_KIND], only=common)
    sections = [
        Section("every-kind", "Fields of every kind", "", every),
        *(
            Section(
                f"kind-{name}",
                f"Kind {name}",
                about_kind(name, kind),
                fields_of(schemas[name], leave_out=common),
            )
            for name, kind in KINDS.items()
        ),
    ]
    about = "A configuration is one mapping. Fields that are not listed here are refused."
    return Part("kinds", "Kinds", about, sections)


def about_kind(name: str, kind: type[Configuration]) -> str:
    told = " ".join((kind.__doc__ or "").split())
    return told.removeprefix(f"Kind `{name}`: ").capitalize()


def objects_part(objects: Mapping[str, Schema]) -> Part:
    """What fields hold, in the order in which they are met."""
    elsewhere = {"Limits", *(choice.__name__ for choice in NamedChoice.__subclasses__())}
    sections = [
        object_section(name, schema) for name, schema in objects.items() if name not in elsewhere
    ]
    return Part("objects", "Objects", "What the fields above hold.", sections)


def limits_part(limits: Schema) -> Part:
    names = list(PRESETS[DEFAULT_PRESET])
    presets = Table(
        "presets",
        "Presets",
        f"Values of the fields that are not given; {DEFAULT_PRESET} if no preset is named, which "
        "leaves the limits to the endpoints. The two of candidates hold in the schedule two_level.",
        ["preset", *names],
        [[name, *(yaml_of(values[field]) for field in names)] for name, values in PRESETS.items()],
    )
    others = Table(
        "other-names",
        "Other names",
        "The names of the asynchronous evaluation guide are understood, too. A genome is a "
        "candidate, a problem is a case.",
        ["also written", "is"],
        [*map(list, written_otherwise().items())],
        [EFFECTS[name] for name in written_otherwise()],
    )
    section = object_section("Limits", limits)
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
    written = Section(
        "scorer",
        "How a scorer is written",
        "By its name, as in exact; with its options under the name, as in "
        "{numeric: {tolerance: 0.001}}, or beside it, as in {name: numeric, tolerance: 0.001}. "
        "These options hold for every scorer; first the threshold, then not.",
        options_of(BaseScorer),
    )
    return named_part("scorers", SCORERS, "How an answer becomes a score.", written)


def strategies_part() -> Part:
    every = Section(
        "strategy",
        "Options of every strategy",
        "Options stand beside the name, as in {name: arm_elimination, batch: 20}.",
        fields_of(Options.model_json_schema()),
    )
    about = "How a run of kind select spends its calls. Written by name, or with options."
    return named_part("strategies", SELECTIONS, about, every)


def agents_part() -> Part:
    about = (
        "Whole pipelines in Python, which a step of a run of kind select may name as its agent. "
        "Others come with packages that EVALSITE_PLUGINS names."
    )
    return named_part("agents", AGENTS, about)


def own_parts() -> list[Part]:
    """Of what only one kind knows."""
    own = [one for kind in KINDS.values() for one in kind.own_registries]
    return [named_part(one.title, one.registry, one.about, how_written(one)) for one in own]


def a_word(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def how_written(own: OwnRegistry) -> Section:
    """What the fields that name one link to."""
    title = f"How {a_word(own.registry.word)} is written"
    return Section(own.registry.word, title, own.registry.how_written, [])


def named_part(
    anchor: str, registry: Registry[Any], about: str, first: Section | None = None
) -> Part:
    """Every entry of a registry with its options. Those that the first section describes for all
    are left out, unless one gives them another default or meaning."""
    before = [first] if first else []
    known = [row for section in before for row in section.fields]
    sections = [
        Section(
            f"{registry.word}-{name}",
            name,
            about_entry(thing),
            [row for row in options_of(thing) if row not in known],
        )
        for name, thing in registry.items()
    ]
    return Part(anchor, anchor.capitalize(), about, [*before, *sections])


def about_entry(thing: type[Named]) -> str:
    """With its label, where it has one besides its name."""
    label = f"{thing.label}. " if thing.label else ""
    version = f" Version {thing.version}." if thing.version > 1 else ""
    return f"{label}{summary_of(thing)}{version}"


def options_of(thing: type[Named]) -> list[FieldRow]:
    model = thing.options_model()
    needed = schema_of(model).get("required", [])
    return fields_of({"properties": properties_of(model), "required": needed})


def definitions(schemas: Iterable[Schema]) -> dict[str, Schema]:
    """Every object that a configuration may hold, by the name of its model, in the order in which
    a reader meets them."""
    found: dict[str, Schema] = {}
    for schema in schemas:
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
