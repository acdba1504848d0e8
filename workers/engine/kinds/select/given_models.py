"""Models as people give them to `select_best`, of whatever type: their names and their parts."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from workers.engine.json_text import to_json
from workers.engine.kinds.select.litellm import ChosenModel

NAMES = ("model", "model_name", "id", "name")  # attributes, or keys, that name a model
PROVIDER = "openai"  # of a model without one before its name, as most servers speak its protocol
SECRET = re.compile(r"key|secret|password|authorization|(^|_)token$", re.IGNORECASE)


def labels_of(models: Sequence[Any]) -> list[str]:
    """A name for each, that no other of them has."""
    names = [name_of(model) for model in models]
    times = Counter(names)
    labels = []
    for place, (model, name) in enumerate(zip(models, names, strict=True)):
        parameters = parameters_of(model)
        told = f" {to_json(parameters).decode()}" if parameters else ""
        label = f"{name}{told}" if times[name] > 1 else name
        labels.append(f"{label} ({place + 1})" if label in labels else label)
    return labels


def name_of(model: Any) -> str:
    if isinstance(model, str):
        return model
    is_mapping = isinstance(model, Mapping)
    named = [model.get(name) if is_mapping else getattr(model, name, None) for name in NAMES]
    return next((name for name in named if isinstance(name, str)), str(model))


def parameters_of(model: Any) -> dict[str, Any]:
    """What a mapping says besides the name, but for keys; of other objects nobody knows."""
    if not isinstance(model, Mapping):
        return {}
    name = name_of(model)
    plain = (str, int, float, bool)
    return {
        str(key): value
        for key, value in model.items()
        if isinstance(value, plain)
        and not (key in NAMES and value == name)
        and not SECRET.search(str(key))
    }


def chosen_model(step: str, model: Any) -> ChosenModel:
    """As LiteLLM names models: the provider first, as in anthropic/claude-opus."""
    provider, slash, name = name_of(model).partition("/")
    if not slash:
        provider, name = PROVIDER, provider
    return ChosenModel(step, provider, name, parameters_of(model))
