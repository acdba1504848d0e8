"""Providers that need no more than their name in a file: address, and the variable of the key."""

from typing import NamedTuple
from urllib.parse import urlsplit

from runs.models import EndpointKind


class KnownProvider(NamedTuple):
    kind: str
    base_url: str = ""
    key_env: str = ""  # the variable that its own tools read, too; empty: it needs no key
    model: str = ""  # one to begin with


KNOWN_PROVIDERS = {
    "openai": KnownProvider(
        EndpointKind.OPENAI, "https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4o-mini"
    ),
    "anthropic": KnownProvider(
        EndpointKind.ANTHROPIC,
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        "claude-3-5-haiku-latest",
    ),
    "openrouter": KnownProvider(
        EndpointKind.OPENAI,
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "openai/gpt-4o-mini",
    ),
    "groq": KnownProvider(
        EndpointKind.OPENAI,
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        "llama-3.1-8b-instant",
    ),
    "mistral": KnownProvider(
        EndpointKind.OPENAI, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-small-latest"
    ),
    "deepseek": KnownProvider(
        EndpointKind.OPENAI, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat"
    ),
    "together": KnownProvider(
        EndpointKind.OPENAI,
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ),
    "gemini": KnownProvider(
        EndpointKind.OPENAI,
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        "gemini-2.0-flash",
    ),
    "ollama": KnownProvider(EndpointKind.OLLAMA, "http://127.0.0.1:11434"),
    "simulated": KnownProvider(EndpointKind.SIMULATED, model="sim-large"),
}
NOBODY = KnownProvider("")


def provider_at(base_url: str) -> KnownProvider:
    """Whose address it is. A key is sent to no other host unless a file names the variable."""
    host = urlsplit(base_url).hostname
    found = (one for one in KNOWN_PROVIDERS.values() if urlsplit(one.base_url).hostname == host)
    return next(found, NOBODY) if host else NOBODY
