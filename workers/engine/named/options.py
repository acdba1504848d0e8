"""Options as a form shows them, read from their pydantic model."""

from typing import Any, NamedTuple

from pydantic import BaseModel

LONGEST_LINE = 1_000  # characters; what may be longer is written in several lines


class OptionDescription(NamedTuple):
    name: str
    label: str
    # "number", "boolean", "choice", "text", "long text", "model" (as endpoint/model), or "yaml": no
    # form has a field for it
    kind: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()


def describe_options(model: type[BaseModel]) -> tuple[OptionDescription, ...]:
    """Its own first, then those that it shares with others of its base class."""
    schema = properties_of(model)
    inherited = {name for base in model.__mro__[1:] for name in getattr(base, "model_fields", {})}
    names = sorted(schema, key=lambda name: name in inherited)
    return tuple(describe_option(name, schema[name], label_of(name, model)) for name in names)


def properties_of(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of each option, complete in itself: it becomes a part of other schemas, in which
    this one's references would lead nowhere."""
    schema = model.model_json_schema()
    parts = schema.get("$defs", {})
    return {name: whole(part, parts) for name, part in schema.get("properties", {}).items()}


def whole(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [whole(item, parts) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$ref", "").rpartition("/")[2]
    rest = {key: whole(item, parts) for key, item in schema.items() if key != "$ref"}
    others = {key: part for key, part in parts.items() if key != name}  # one that holds itself ends
    return {**whole(parts.get(name, {}), others), **rest} if name else rest


def label_of(name: str, model: type[BaseModel]) -> str:
    return model.model_fields[name].title or name.replace("_", " ").capitalize()


def describe_option(name: str, schema: dict[str, Any], label: str) -> OptionDescription:
    help_text = schema.get("description", "")
    choices = tuple(schema.get("enum", ()))
    kind = "choice" if choices else kind_of(schema)
    return OptionDescription(name, label, kind, schema.get("default"), help_text, choices)


def kind_of(schema: dict[str, Any]) -> str:
    parts = schema.get("anyOf", [schema])
    if any(part.get("format") == "model" for part in parts):
        return "model"
    types = {part.get("type") for part in parts}
    if types & {"array", "object"}:
        return "yaml"
    if types & {"number", "integer"}:
        return "number"
    if "boolean" in types:
        return "boolean"
    return "long text" if schema.get("maxLength", 0) > LONGEST_LINE else "text"
