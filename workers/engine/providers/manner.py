"""How an endpoint is called besides its address and its key."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

NOTHING: Mapping[str, Any] = MappingProxyType({})


class ProviderOptions(BaseModel):
    """What a provider can be told besides: every field with a title and a description, which form
    and API show."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Manner(NamedTuple):
    headers: Mapping[str, str] = NOTHING  # of its own; their values are secret
    options: Mapping[str, Any] = NOTHING  # of the provider's `options_model`


USUAL = Manner()


def merged(*parts: Mapping[str, str]) -> dict[str, str]:
    """Of headers with the same name, however it is written, the last one."""
    found = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(found.values())
