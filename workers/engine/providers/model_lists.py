"""How an endpoint is asked which models it offers: a question that costs nothing."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

VERSIONED = "Check that the base URL ends with the version, as in https://provider.example/v1."


class ModelList(NamedTuple):
    path: str
    key_headers: Callable[[str], Mapping[str, str]]
    names_of: Callable[[Any], list[str]]
    advice: str  # when there is nothing at this path
    names_callable: bool = True  # False: calls go by other names, such as those of deployments


def openai_names(document: Any) -> list[str]:
    """Some servers answer with the bare list."""
    is_bare = isinstance(document, list) and document
    entries = document if is_bare else document["data"]
    return [str(entry["id"]) for entry in entries]


def ollama_names(document: Any) -> list[str]:
    return [str(entry["name"]) for entry in document["models"]]
