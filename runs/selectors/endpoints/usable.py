"""Whether endpoints can be called at this moment, by what is stored of them."""

from collections.abc import Mapping

from runs.models import Endpoint
from runs.outbound import check_servers
from workers.engine.errors import ConfigurationError, ForbiddenAddress, Problem


def refuse_unusable(endpoints: Mapping[str, Endpoint]) -> None:
    """Before a call is made: paused endpoints, and addresses that are not allowed."""
    problems = [
        Problem("models", told)
        for name, endpoint in endpoints.items()
        if (told := trouble_with(name, endpoint))
    ]
    if problems:
        raise ConfigurationError(problems)


def trouble_with(name: str, endpoint: Endpoint) -> str:
    if endpoint.is_paused:
        return f"The endpoint {name} is paused. Resume it under Endpoints first."
    try:
        check_servers(endpoint)
    except ForbiddenAddress as error:
        return f"The endpoint {name} cannot be called. {error}"
    return ""
