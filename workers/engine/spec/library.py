"""Puts the prompts of the library in the place of their names, for a run to freeze."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from workers.engine.errors import Problem
from workers.engine.spec.configuration import Configuration
from workers.engine.spec.prompts import PromptParts


class LibraryPrompt(NamedTuple):
    """One version of a prompt in the library."""

    version: int
    content: Mapping[str, Any]


Find = Callable[[str, int | None], LibraryPrompt | None]
"""By name and version; without a version the newest."""


class Filled(NamedTuple):
    document: dict[str, Any]
    problems: list[Problem]


def fill_from_library(document: dict[str, Any], configuration: Configuration, find: Find) -> Filled:
    """A copy of the document with the content and the version of every prompt that it names.
    A frozen one keeps its words: where the library no longer says the same, only the name goes."""
    named = [(path, one) for path, one in configuration.written_prompts() if one.library]
    if not named:
        return Filled(document, [])
    copy, problems = deepcopy(document), []
    for path, prompt in named:
        found = find(prompt.library or "", prompt.version)
        entry = entry_at(copy, path)
        if prompt.is_reference and found is None:
            problems.append(Problem(f"{path}.library", missing(prompt)))
        elif prompt.is_reference and found is not None:
            entry |= {"name": prompt.name, "version": found.version, **found.content}
        elif found is None or dict(found.content) != prompt.content():
            del entry["library"], entry["version"]
    return Filled(copy, problems)


def missing(prompt: PromptParts) -> str:
    which = f" with a version {prompt.version}" if prompt.version else ""
    return (
        f"There is no prompt {prompt.library!r}{which} in the library that you may use. Save it "
        "under Prompts, or write it here."
    )


def entry_at(document: Any, path: str) -> dict[str, Any]:
    for step in path.split("."):
        document = document[int(step) if step.isdecimal() else step]
    entry: dict[str, Any] = document
    return entry


def unfilled(configuration: Configuration) -> list[Problem]:
    """Where there is no library, as in a notebook."""
    return [
        Problem(f"{path}.library", "There is no library here. Write the prompt itself.")
        for path, prompt in configuration.written_prompts()
        if prompt.is_reference
    ]
