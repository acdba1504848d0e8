"""Providers send requests over real HTTP and read what comes back.

To add one: write a file here with a class like OpenAI and add a line to PROVIDERS.
"""

from typing import Protocol

from workers.engine.http import Client
from workers.engine.providers.anthropic import Anthropic
from workers.engine.providers.app import App
from workers.engine.providers.azure import Azure
from workers.engine.providers.manner import USUAL, Manner, ProviderOptions
from workers.engine.providers.model_lists import ModelList
from workers.engine.providers.ollama import Ollama
from workers.engine.providers.openai import OpenAI
from workers.engine.providers.servers import Servers
from workers.engine.records import Reply, Request

__all__ = [
    "PROVIDERS",
    "Manner",
    "Provider",
    "ProviderOptions",
    "Servers",
    "model_list_of",
    "options_of",
]


class Provider(Protocol):
    """What a provider must do. It need not count tokens (then they and the cost are unknown, never
    0), tell its limits, list its models (`model_list`) or make vectors."""

    service: str
    """Whose answers these are: kind, base URL and credential. Two services never share one."""

    async def send(self, request: Request) -> Reply:
        """The answer, or a CallError. Never retries; the latency is filled in by the caller.

        Requests are in OpenAI's form, whatever the provider speaks: each translates them itself.
        One for embeddings has a list of texts, and its reply a vector for each, in their order.
        """
        ...


class ProviderFactory(Protocol):
    def __call__(
        self,
        client: Client,
        service: str,
        base_url: str,
        api_key: str = "",
        servers: Servers | None = None,
        manner: Manner = USUAL,
    ) -> Provider: ...


PROVIDERS: dict[str, ProviderFactory] = {
    "openai": OpenAI,
    "azure": Azure,
    "anthropic": Anthropic,
    "ollama": Ollama,
    "app": App,
    "simulated": OpenAI,  # the simulated provider speaks the same protocol, without a key
}


def model_list_of(kind: str) -> ModelList | None:
    """How endpoints of a kind are asked for their models. None: they cannot be."""
    model_list: ModelList | None = getattr(PROVIDERS[kind], "model_list", None)
    return model_list


def options_of(kind: str) -> type[ProviderOptions]:
    """What endpoints of a kind can be told besides address and key."""
    options: type[ProviderOptions] = getattr(PROVIDERS[kind], "options_model", ProviderOptions)
    return options
