"""What a form offers of the strategies: when each is the right one, and its options."""

from typing import Any, NamedTuple

from pydantic import BaseModel

from workers.engine.strategies import SELECTIONS

RECOMMENDED = "paired_elimination"  # to people; who names none gets the schema's default


class OptionDescription(NamedTuple):
    name: str
    label: str
    kind: str  # "number", "boolean", "choice" or "text"
    default: Any
    help: str
    choices: tuple[str, ...] = ()


class StrategyDescription(NamedTuple):
    name: str
    label: str
    when: str
    options: tuple[OptionDescription, ...]

    @property
    def is_recommended(self) -> bool:
        return self.name == RECOMMENDED


def describe_strategies() -> list[StrategyDescription]:
    """The recommended one first."""
    found = [
        StrategyDescription(
            name, strategy.label, strategy.when, describe_options(strategy.options_type)
        )
        for name, strategy in SELECTIONS.items()
    ]
    return sorted(found, key=lambda each: not each.is_recommended)


def describe_options(model: type[BaseModel]) -> tuple[OptionDescription, ...]:
    """A strategy's own first, then those that all have."""
    schema = model.model_json_schema()["properties"]
    inherited = {name for base in model.__mro__[1:] for name in getattr(base, "model_fields", {})}
    names = sorted(schema, key=lambda name: name in inherited)
    return tuple(describe_option(name, schema[name]) for name in names)


def describe_option(name: str, schema: dict[str, Any]) -> OptionDescription:
    types = {part.get("type") for part in schema.get("anyOf", [schema])}
    choices = tuple(schema.get("enum", ()))
    if choices:
        kind = "choice"
    elif types & {"number", "integer"}:
        kind = "number"
    else:
        kind = "boolean" if "boolean" in types else "text"
    help_text = schema.get("description", "")
    return OptionDescription(name, schema["title"], kind, schema.get("default"), help_text, choices)
