"""Turns pydantic's errors into problems a person can act on: where, what, what is allowed."""

import typing
from typing import Any

from pydantic import BaseModel, ValidationError

from workers.engine.errors import Problem
from workers.engine.named import WrongOptions

TOO_SHORT = ("string_too_short", "too_short")
# What to do about a field that is empty, by its name, or by that of its parent and its own.
EMPTY = {
    "dataset.name": "Choose a dataset.",
    "name": "Enter a name.",
    "rows": "Add at least one row.",
    "prompts": "Add at least one prompt.",
    "user": "Enter a prompt.",
    "models": "Choose at least one model.",
    "endpoint": "Name an endpoint.",
    "model": "Name a model.",
    "scorers": "Choose at least one scorer.",
    "steps": "Add at least one step.",
    "calls": "Add at least one call.",
    "agent": "Name an agent.",
}


def explain(error: ValidationError, model: type[BaseModel]) -> list[Problem]:
    """Every problem of a document at once."""
    found = []
    for item in error.errors(include_url=False):
        path, cause = path_of(item["loc"], model), item.get("ctx", {}).get("error")
        if isinstance(cause, WrongOptions) and cause.each:
            found += [
                Problem(f"{path}.{one.option}".rstrip("."), one.message) for one in cause.each
            ]
        else:
            found.append(Problem(path, sentence(dict(item), model)))
    return found


def sentence(item: dict[str, Any], model: type[BaseModel]) -> str:
    kind = item["type"]
    if kind == "extra_forbidden":
        parent = model_at(model, item["loc"][:-1])
        allowed = ", ".join(parent.model_fields) if parent else "see the documentation"
        return f"Unknown field. Allowed here: {allowed}."
    if kind == "missing":
        return "This field is needed."
    if kind in TOO_SHORT and not item["input"]:
        return empty_sentence(path_of(item["loc"], model))
    if kind == "value_error":
        return str(item["ctx"]["error"])
    return f"{item['msg']}, got {shorten(item['input'])}."


def empty_sentence(path: str) -> str:
    names = [part for part in path.split(".") if not part.isdecimal()]
    last_two, last = ".".join(names[-2:]), ".".join(names[-1:])
    return EMPTY.get(last_two) or EMPTY.get(last) or "This is empty. Fill it in."


def shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def path_of(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """As a person writes it: without the names of the models that pydantic chose between."""
    shown = [
        str(part)
        for place, part in enumerate(location)
        if not is_choice(part, models_at(model, location[:place]))
    ]
    return ".".join(shown)


def model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model that describes the value at a path, if it is one."""
    return next(iter(models_at(model, path)), None)


def models_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[type[BaseModel]]:
    """The models that may describe the value at a path."""
    current = [model]
    for part in path:
        if isinstance(part, int):
            continue  # a place in a list: the field before it already led to the item's model
        if is_choice(part, current):
            current = [one for one in current if one.__name__ == part]
            continue
        fields = [one.model_fields[part] for one in current[:1] if part in one.model_fields]
        current = find_models(fields[0].annotation) if fields else []
    return current


def is_choice(part: int | str, models: list[type[BaseModel]]) -> bool:
    """Whether it says which of several models was chosen, and not a field."""
    return len(models) > 1 and part in [one.__name__ for one in models]


def find_models(annotation: Any) -> list[type[BaseModel]]:
    """The models inside an annotation such as `list[Prompt]` or `Limits | None`."""
    if typing.get_origin(annotation) is None and isinstance(annotation, type):
        return [annotation] if issubclass(annotation, BaseModel) else []
    return [found for inner in typing.get_args(annotation) for found in find_models(inner)]
