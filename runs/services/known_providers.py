"""Fills an endpoint in by the name of its provider: protocol, address and gentle limits."""

from collections.abc import Collection

from django.core.exceptions import ValidationError

from runs.models import Endpoint
from workers.engine.providers.known import KNOWN_PROVIDERS

FILLED = ("kind", "base_url", "max_concurrent", "requests_per_minute")


def fill_in(endpoint: Endpoint, name: str, given: Collection[str]) -> None:
    """What is `given` stays. Options belong to a protocol: those of another one are dropped."""
    if name not in KNOWN_PROVIDERS:
        raise ValidationError({"provider": f"Choose one of: {', '.join(KNOWN_PROVIDERS)}."})
    known = KNOWN_PROVIDERS[name]
    if "options" not in given and endpoint.kind != known.kind:
        endpoint.options = {}
    for field in FILLED:
        if field not in given:
            setattr(endpoint, field, getattr(known, field))
