"""How each kind of endpoint is asked which models it offers: a question that costs nothing."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from workers.engine.providers import anthropic
from workers.engine.providers.wire import bearer

VERSIONED = "Check that the base URL ends with the version, as in https://provider.example/v1."


class ModelList(NamedTuple):
    path: str
    key_headers: Callable[[str], Mapping[str, str]]
    names_of: Callable[[Any], list[str]]
    advice: str  # when there is nothing at this path


def openai_names(document: Any) -> list[str]:
    return [str(entry["id"]) for entry in document["data"]]


def ollama_names(document: Any) -> list[str]:
    return [str(entry["name"]) for entry in document["models"]]


OPENAI_LIST = ModelList("/models", bearer, openai_names, VERSIONED)
MODEL_LISTS: dict[str, ModelList] = {
    "openai": OPENAI_LIST,
    "anthropic": ModelList("/models?limit=1000", anthropic.key_headers, openai_names, VERSIONED),
    "ollama": ModelList(
        "/api/tags",
        bearer,
        ollama_names,
        "Check that the base URL is the server's address alone, as in http://gpu-1.example:11434.",
    ),
    "simulated": OPENAI_LIST,
}
