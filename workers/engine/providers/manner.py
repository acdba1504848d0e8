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
    options: Mapping[str, Any] = NOTHING  # of the provider's `options_model`


USUAL = Manner()
