"""The kinds of run. To add one: copy evaluate.py, then add its line below and in `runs/kinds`."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.kinds.evaluate import Evaluation
from workers.engine.kinds.evolve import Evolution
from workers.engine.kinds.mutate import Mutation
from workers.engine.kinds.rollout import Rollout
from workers.engine.kinds.select import Selection
from workers.engine.spec.configuration import Configuration
from workers.engine.spec.problems import explain

__all__ = ["DEFAULT_KIND", "KINDS", "read_configuration"]

KINDS: dict[str, type[Configuration]] = {
    "evaluate": Evaluation,
    "select": Selection,
    "evolve": Evolution,
    "rollout": Rollout,
    "mutate": Mutation,
}
DEFAULT_KIND = "evaluate"  # of a document that names none


def read_configuration(document: Any) -> Configuration:
    """The configuration a document describes, or every problem it has."""
    if not isinstance(document, Mapping):
        raise ConfigurationError(
            [Problem("", "A configuration is a mapping of fields such as kind, dataset, prompts.")]
        )
    kind = document.get("kind", DEFAULT_KIND)
    if not isinstance(kind, str) or kind not in KINDS:
        told = f"Unknown kind {kind!r}. Choose one of: {', '.join(map(repr, KINDS))}."
        raise ConfigurationError([Problem("kind", told)])
    try:
        configuration = KINDS[kind].model_validate(document)
    except ValidationError as error:
        raise ConfigurationError(explain(error, KINDS[kind])) from None
    if problems := configuration.problems():
        raise ConfigurationError(problems)
    return configuration
