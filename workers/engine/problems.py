"""Turns pydantic's errors into problems a person can act on: where, what, what is allowed."""

import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from workers.engine.errors import Problem

EMPTY = {
    "string_too_short": "Nothing is given here. It needs at least 1 character.",
    "too_short": "Nothing is given here. It needs at least 1.",
}


def explain(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Every problem of a document at once."""
    return [
        Problem(".".join(str(part) for part in item["loc"]), sentence(dict(item), model))
        for item in error.errors(include_url=False)
    ]


def sentence(item: dict[str, Any], model: type[BaseModel]) -> str:
    kind = item["type"]
    if kind == "extra_forbidden":
        parent = model_at(model, item["loc"][:-1])
        allowed = ", ".join(parent.model_fields) if parent else "see the documentation"
        return f"Unknown field. Allowed here: {allowed}."
    if kind == "missing":
        return "This field is needed."
    if kind in EMPTY and not item["input"]:
        return EMPTY[kind]
    if kind == "value_error":
        return str(item["ctx"]["error"])
    return f"{item['msg']}, got {shorten(item['input'])}."


def shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model that describes the value at a path, if it is one."""
    current: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, int):
            continue  # a place in a list: the field before it already led to the item's model
        field = current.model_fields.get(part) if current else None
        current = find_model(field.annotation) if field else None
    return current


def find_model(annotation: Any) -> type[BaseModel] | None:
    """The first model inside an annotation such as `list[Prompt]` or `Limits | None`."""
    if typing.get_origin(annotation) is None and isinstance(annotation, type):
        return annotation if issubclass(annotation, BaseModel) else None
    for inner in typing.get_args(annotation):
        if found := find_model(inner):
            return found
    return None
