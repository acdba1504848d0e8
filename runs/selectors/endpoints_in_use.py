"""The endpoints that a configuration calls."""

from runs.models import Endpoint
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec import Configuration


def endpoints_of(configuration: Configuration) -> dict[str, Endpoint]:
    """By name. Raises ConfigurationError when one was removed since."""
    names = {model.endpoint for model in configuration.models}
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.objects.filter(name__in=names)}
    missing = sorted(names - set(endpoints))
    if missing:
        raise ConfigurationError(
            [Problem("models", f"The endpoint {name!r} was removed.") for name in missing]
        )
    return endpoints
