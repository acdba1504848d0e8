"""Options as a form shows them, read from their pydantic model."""

from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel

LONGEST_LINE = 1_000  # characters; what may be longer is written in several lines


class OptionDescription(NamedTuple):
    name: str
    label: str
    # "number", "boolean", "choice", "text", "long text", "model" (as endpoint/model), "models" (one
    # a line), "lines" (a text each), or "yaml": no form has a field for it
    kind: str
    default: Any
    help: str
    choices: tuple[str, ...] = ()


def describe_options(model: type[BaseModel]) -> tuple[OptionDescription, ...]:
    """Its own first, then those that it shares with others of its base class."""
    schema = properties_of(model)
    return tuple(
        describe_option(name, schema[name], label_of(name, model)) for name in option_names(model)
    )


def option_names(model: type[BaseModel]) -> list[str]:
    """As a configuration writes them: its own first. Some are no names in Python, as `not`."""
    fields = model.model_fields
    declared = [name for base in model.__mro__ for name in vars(base).get("__annotations__", {})]
    names = dict.fromkeys([*(name for name in declared if name in fields), *fields])
    return [fields[name].alias or name for name in names]


def properties_of(model: type[BaseModel]) -> dict[str, Any]:
    """The schema of each option, complete in itself: it becomes a part of other schemas, in which
    this one's references would lead nowhere."""
    schema = schema_of(model)
    parts = schema.get("$defs", {})
    return {name: whole(part, parts) for name, part in schema.get("properties", {}).items()}


@cache
def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """To be read only. The schema of a configuration asks for that of each scorer several times."""
    return model.model_json_schema()


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
    titles = {field.alias or own: field.title for own, field in model.model_fields.items()}
    return titles[name] or name.replace("_", " ").capitalize()


def describe_option(name: str, schema: dict[str, Any], label: str) -> OptionDescription:
    help_text = schema.get("description", "")
    choices = tuple(schema.get("enum", ()))
    kind = "choice" if choices else kind_of(schema)
    return OptionDescription(name, label, kind, schema.get("default"), help_text, choices)


def kind_of(schema: dict[str, Any]) -> str:
    parts = choices_in(schema)
    if any(part.get("format") == "model" for part in parts):
        return "model"
    if any(kind_of(part["items"]) == "model" for part in parts if "items" in part):
        return "models"
    if all(part.get("items", {}).get("type") == "string" for part in parts):
        return "lines"
    types = {part.get("type") for part in parts}
    if types & {"array", "object"} and "string" not in types:
        return "yaml"
    if types & {"number", "integer"}:
        return "number"
    if "boolean" in types:
        return "boolean"
    longest = max(part.get("maxLength", 0) for part in parts)
    return "long text" if longest > LONGEST_LINE else "text"


def choices_in(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """A choice that may be left out holds the others one level deeper."""
    if "anyOf" not in schema:
        return [schema]
    return [part for choice in schema["anyOf"] for part in choices_in(choice)]
