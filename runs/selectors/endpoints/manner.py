"""How an endpoint is called besides its address and its key, for the engine."""

from runs.models import Endpoint
from workers.engine.providers import Manner


def manner_of(endpoint: Endpoint) -> Manner:
    return Manner(options=endpoint.options)
