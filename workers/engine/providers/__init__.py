"""Providers send requests over real HTTP and read what comes back.

To add one: write a file here with a class like OpenAI and add a line to PROVIDERS.
"""

from typing import Protocol

from workers.engine.providers.openai import OpenAI, service_name
from workers.engine.records import Reply, Request

__all__ = ["PROVIDERS", "Provider", "service_name"]


class Provider(Protocol):
    service: str
    """Kind and host: answers of different services never share a cache entry."""

    async def send(self, request: Request) -> Reply:
        """The answer, or a CallError. Never retries; the latency is filled in by the caller."""
        ...


PROVIDERS: dict[str, type[OpenAI]] = {
    "openai": OpenAI,
    "simulated": OpenAI,  # the simulated provider speaks the same protocol, without a key
}
