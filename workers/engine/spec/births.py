"""Checks candidates that are born while a run goes on, as a launch checks those it begins with."""

from collections.abc import Iterable, Sequence

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.records import Candidate
from workers.engine.spec.checks import unknown_name
from workers.engine.spec.configuration import Configuration
from workers.engine.spec.template import names_in


def check_births(
    configuration: Configuration, born: Iterable[Candidate], columns: Sequence[str]
) -> None:
    """Refuse a prompt that no case can fill, instead of failing each of its trials. A strategy
    whose prompts are written by a model asks `names_filled` first, so that one bad proposal does
    not end its run."""
    problems = [
        Problem(candidate.name, unknown_name(name, columns, ()))
        for candidate in born
        for text in configuration.texts_of(candidate.document)
        for name in names_in(text)
        if name not in columns
    ]
    if problems:
        raise ConfigurationError(problems)


def names_filled(configuration: Configuration) -> frozenset[str]:
    """The columns that the prompts of the launch name. A prompt that a model writes may name no
    others: they may not exist, or hold the expected answer."""
    return frozenset(n for one in configuration.templates() for n in names_in(one.text))
