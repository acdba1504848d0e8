"""The parameters of the chosen models, the same for all: a few fields, and lines for the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from workers.engine.errors import ConfigurationError
from workers.engine.spec.configuration import ModelChoice
from workers.engine.spec.documents import read_document, write_document

NUMBERS = ("temperature", "max_tokens", "top_p")  # with a field of their own


@dataclass(slots=True)
class ParametersInput:
    """As typed: the numbers that every provider has, and `name: value` lines."""

    numbers: dict[str, str] = field(default_factory=dict)
    more: str = ""

    @property
    def are_given(self) -> bool:
        return bool(self.more.strip() or any(text.strip() for text in self.numbers.values()))

    def document(self) -> Any:
        """As a configuration writes them. What cannot be read stays text, for the schema to
        refuse."""
        more = read_lines(self.more)
        if not isinstance(more, Mapping):
            return more
        given = {name: text.strip() for name, text in self.numbers.items() if text.strip()}
        return {**more, **{name: number_or_text(text) for name, text in given.items()}}

    def entry(self, label: str) -> Any:
        """A model with these parameters; short where there are none."""
        endpoint, slash, model = label.partition("/")
        parameters = self.document()
        if not slash or parameters == {}:
            return label
        return {"endpoint": endpoint, "model": model, "parameters": parameters}


def read_lines(text: str) -> Any:
    try:
        read = read_document(text)
    except ConfigurationError:
        return text
    return {} if read is None else read


def number_or_text(text: str) -> int | float | str:
    """A number where it is one; else the text, for the schema to refuse with its own message."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text.strip()


def number_text(value: float | None) -> str:
    """As a person types it: 60, not 60.0."""
    if value is None:
        return ""
    return str(int(value)) if value == int(value) else repr(value)


def read_parameters(post: QueryDict) -> ParametersInput:
    numbers = {name: post.get(f"parameter-{name}", "") for name in NUMBERS}
    return ParametersInput(numbers, post.get("parameters", ""))


def parameters_of(models: Sequence[ModelChoice]) -> ParametersInput:
    """Those of the first: where others differ, the form cannot show them all."""
    given = dict(models[0].parameters) if models else {}
    numbers = {name: str(given.pop(name)) for name in NUMBERS if name in given}
    more = write_document(given) if given else ""
    return ParametersInput(numbers, more)
