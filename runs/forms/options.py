"""The options of a named thing as fields of a form: what was typed, and what a document says."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text, number_text
from workers.engine.json_text import to_json
from workers.engine.named import OptionDescription

CHOICE_LABELS = {
    "weighted": "One winner",
    "pareto": "All that no other beats",
    "survivors": "Combinations not given up",
    "anyone": "All combinations",
    "wrong": "Count as wrong answers",
    "dropped": "Are left out",
    "any": "Any of them",
    "all": "All of them",
}
Options = Sequence[OptionDescription]


class OptionField(NamedTuple):
    """One option as a form shows it."""

    described: OptionDescription
    field: str
    value: str
    placeholder: str = ""  # what an empty field stands for

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Each value with what a person reads."""
        return [(value, CHOICE_LABELS.get(value, value)) for value in self.described.choices]


def option_fields(prefix: str, options: Options, values: Mapping[str, str]) -> list[OptionField]:
    return [
        OptionField(option, field_name(prefix, option), values.get(option.name, ""))
        for option in options
        if option.kind != "yaml"
    ]


def posted_options(prefix: str, options: Options, post: QueryDict) -> dict[str, str]:
    return {option.name: post.get(field_name(prefix, option), "") for option in options}


def field_name(prefix: str, option: OptionDescription) -> str:
    return f"{prefix}-{option.name}"


def given_options(options: Options, values: Mapping[str, str]) -> dict[str, Any]:
    """Only what differs from the defaults. What is no number stays text, for the schema to
    refuse."""
    found = {}
    for option in options:
        value = option_value(option, values.get(option.name, ""))
        if option.kind != "yaml" and value not in ("", option.default):
            found[option.name] = value
    return found


def option_value(option: OptionDescription, text: str) -> Any:
    if option.kind == "boolean":
        return text == "on"
    if option.kind in ("models", "lines"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    return number_or_text(text) if option.kind == "number" else text


def default_texts(options: Options) -> dict[str, str]:
    return {option.name: option_text(option.default) for option in options}


def option_text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else ""
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, Mapping):
        return to_json(value).decode()
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return "" if value is None else str(value)
