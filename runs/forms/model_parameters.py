"""The parameters of the chosen models: a few fields and lines for all of them, and lines for those
that get others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.configuration import ModelChoice
from workers.engine.spec.documents import read_document, write_document

NUMBERS = ("temperature", "max_tokens", "top_p")  # with a field of their own


@dataclass(slots=True)
class ParametersInput:
    """As typed: the numbers that every provider has, and `name: value` lines."""

    numbers: dict[str, str] = field(default_factory=dict)
    more: str = ""
    own: str = ""  # `endpoint/model: {name: value}` lines, over those of all
    written: set[str] = field(default_factory=set)  # the models that were, so far

    @property
    def are_given(self) -> bool:
        typed = (self.more, self.own, *self.numbers.values())
        return any(text.strip() for text in typed)

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
        self.written.add(label)
        endpoint, slash, model = label.partition("/")
        parameters = with_own(self.document(), read_lines(self.own), label)
        if not slash or parameters == {}:
            return label
        return {"endpoint": endpoint, "model": model, "parameters": parameters}

    def problems(self) -> list[Problem]:
        """Of models that nobody asks, once all are written: most likely a name was mistyped."""
        own = read_lines(self.own)
        named = [] if not isinstance(own, Mapping) else [str(label) for label in own]
        chosen = ", ".join(sorted(self.written)) or "none yet"
        return [
            Problem("own_parameters", f"{label} is not a model of this run. Chosen are: {chosen}.")
            for label in named
            if label not in self.written
        ]


def with_own(common: Any, own: Any, label: str) -> Any:
    """What cannot be read goes to the schema as it is, which says what it should be."""
    if not isinstance(own, Mapping):
        return own
    mine = own.get(label, {})
    if not isinstance(common, Mapping) or not isinstance(mine, Mapping):
        return common if mine == {} else mine
    return {name: value for name, value in {**common, **mine}.items() if value is not None}


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
    return ParametersInput(numbers, post.get("parameters", ""), post.get("own_parameters", ""))


def parameters_of(models: Sequence[ModelChoice]) -> ParametersInput:
    """What all have alike, and what else each has. A model that is there twice with different ones
    cannot be shown: then the whole is shown as YAML, by whoever compares."""
    if not models:
        return ParametersInput()
    common = {
        name: value
        for name, value in models[0].parameters.items()
        if all(name in one.parameters and one.parameters[name] == value for one in models)
    }
    own = {
        one.label: {name: value for name, value in one.parameters.items() if name not in common}
        for one in models
    }
    numbers = {name: str(common.pop(name)) for name in NUMBERS if name in common}
    return ParametersInput(
        numbers,
        write_document(common) if common else "",
        write_document(differing) if (differing := {k: v for k, v in own.items() if v}) else "",
    )
