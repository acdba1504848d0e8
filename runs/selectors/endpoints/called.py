"""Which endpoints a configuration calls, and which runs call an endpoint now."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runs.models import Endpoint, Run, RunState
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.configuration import Configuration, ModelChoice
from workers.engine.spec.parts import ScorerChoice

NONE: Mapping[str, Endpoint] = {}


def endpoints_of(
    configuration: Configuration, own: Mapping[str, Endpoint] = NONE
) -> dict[str, Endpoint]:
    """By name; `own` ones of a file come before those that are stored. ConfigurationError when one
    was removed since."""
    names = {model.endpoint for model in configuration.every_model}
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.filter(name__in=names)}
    endpoints |= {name: own[name] for name in names & own.keys()}
    missing = sorted(names - set(endpoints))
    if missing:
        raise ConfigurationError(
            [Problem("models", f"The endpoint {name!r} was removed.") for name in missing]
        )
    return endpoints


def known_prices(own: Mapping[str, Endpoint] = NONE) -> dict[str, set[str]]:
    """By endpoint, the models whose price is known."""
    rows = Endpoint.objects.values_list("name", "prices")
    known = {name: set(prices) for name, prices in rows}
    return known | {name: set(endpoint.prices) for name, endpoint in own.items()}


class LiveRun(NamedTuple):
    pk: int
    name: str
    models: list[ModelChoice]

    def uses(self, endpoint: str, model: str | None = None) -> bool:
        return any(
            choice.endpoint == endpoint and model in (None, choice.model) for choice in self.models
        )


def live_runs() -> list[LiveRun]:
    """The runs that go on, with the models they call. Reads no prompts."""
    rows = Run.objects.filter(state__in=RunState.live()).order_by("pk")
    return [
        LiveRun(
            pk, name, [*map(ModelChoice.model_validate, models_in(*parts)), *judges_in(scorers)]
        )
        for pk, name, scorers, *parts in rows.values_list(
            "pk", "name", "document__scorers", "document__models", "document__steps"
        )
    ]


def models_in(models: list[Any] | None, steps: list[dict[str, Any]] | None) -> list[Any]:
    """As written in a document of any kind."""
    calls = [call for step in steps or [] for call in step.get("calls", [step])]
    return models or [model for call in calls for model in call["models"]]


def judges_in(scorers: list[Any] | None) -> list[ModelChoice]:
    choices = [ScorerChoice.model_validate(scorer) for scorer in scorers or []]
    return [model for choice in choices for model in choice.models.values()]


def live_runs_using(endpoint: Endpoint) -> list[int]:
    return [run.pk for run in live_runs() if run.uses(endpoint.name)]
