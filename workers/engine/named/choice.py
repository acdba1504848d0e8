"""A named thing as a part of a configuration's schema."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from workers.engine.errors import Problem
from workers.engine.named.named import Named
from workers.engine.named.options import properties_of
from workers.engine.named.registry import Registry


def as_written(schema: dict[str, Any], model: type["NamedChoice"]) -> None:
    """A name alone, or with options: under the name, beside it, or as `options`."""
    about = {"description": schema["description"]} if "description" in schema else {}
    registry = model.registry
    schema.clear()
    schema.update(about)
    schema["anyOf"] = [{"enum": list(registry)}, under_names(registry)]
    schema["anyOf"] += [beside_name(name, registry) for name in registry]


def under_names(registry: Registry[Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {"anyOf": [options_schema(thing), {"type": "null"}]}
            for name, thing in registry.items()
        },
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    }


def beside_name(name: str, registry: Registry[Any]) -> dict[str, Any]:
    nested = options_schema(registry[name])
    return {
        "type": "object",
        "properties": {"name": {"enum": [name]}, "options": nested, **nested["properties"]},
        "required": ["name"],
        "additionalProperties": False,
    }


def options_schema(thing: type[Named]) -> dict[str, Any]:
    properties = properties_of(thing.options_model())
    return {"type": "object", "properties": properties, "additionalProperties": False}


class NamedChoice(BaseModel):
    """Subclasses say of which registry, and how it is written."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra=as_written)

    registry: ClassVar[Registry[Any]]

    name: str
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        return cls.registry.read(value)._asdict()


def numbered(path: str, choices: Sequence[NamedChoice]) -> dict[str, NamedChoice]:
    """By their places in the document."""
    return {f"{path}.{index}": choice for index, choice in enumerate(choices)}


def problems_with(named: Mapping[str, NamedChoice]) -> list[Problem]:
    """What only the installed plug-ins can tell, of choices by their places."""
    found = {path: one.registry.problem_with(one.name, one.options) for path, one in named.items()}
    return [Problem(path, told) for path, told in found.items() if told]
