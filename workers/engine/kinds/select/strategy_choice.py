"""How a configuration names its strategy: with its options beside the name."""

from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, model_validator

from workers.engine.spec.parts import Strict
from workers.engine.strategies import SELECTIONS, read_options


def as_written(schema: dict[str, Any]) -> None:
    """A name alone, or with the options that this strategy takes, beside it or as `options`."""
    schema.clear()
    schema["anyOf"] = [{"enum": list(SELECTIONS)}]
    for name, strategy in SELECTIONS.items():
        options = strategy.options_type.model_json_schema()["properties"]
        nested = {"type": "object", "properties": options, "additionalProperties": False}
        schema["anyOf"].append(
            {
                "type": "object",
                "properties": {"name": {"enum": [name]}, "options": nested, **options},
                "required": ["name"],
                "additionalProperties": False,
            }
        )


class StrategyChoice(Strict):
    """A strategy by name with its options beside it, as in {name: threshold, threshold: 0.8}."""

    model_config = ConfigDict(json_schema_extra=as_written)

    name: str
    options: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"name": value}
        if not isinstance(value, Mapping):
            return value
        name = value.get("name")
        beside = {key: item for key, item in value.items() if key not in ("name", "options")}
        nested = value.get("options", {})
        if not isinstance(name, str) or not isinstance(nested, Mapping):
            raise ValueError("A strategy is {name: ..., and its options beside it}.")
        if nested and beside:
            raise ValueError(
                "Options stand beside the name of a strategy, or as `options`, not both."
            )
        options = {**nested, **beside}
        read_options(name, options)
        return {"name": name, "options": options}
