"""Providers by the name that people know them by: what to enter for each.

To add one: a line here. Nothing else depends on it; an endpoint keeps what was filled in.
"""

from typing import NamedTuple
from urllib.parse import urlsplit


class KnownProvider(NamedTuple):
    """`kind` names its protocol, an entry of PROVIDERS. Limits are gentle ones to begin with: the
    lowest of its paid plans, or what one machine does."""

    title: str
    kind: str
    base_url: str
    needs_key: bool = True
    max_concurrent: int = 20
    requests_per_minute: int | None = None
    hint: str = ""
    price_list: str = ""  # its name in the list of prices
    key_env: str = ""  # the environment variable that its own tools take the key from, too
    first_model: str = ""  # one to begin with


TO_COMPLETE = "YOUR-RESOURCE"  # in a base URL: a person puts a name of their own there
LOCAL_HINT = "Enter the address of the machine it runs on, if that is another."

KNOWN_PROVIDERS: dict[str, KnownProvider] = {
    "openai": KnownProvider(
        "OpenAI",
        "openai",
        "https://api.openai.com/v1",
        requests_per_minute=500,
        hint="Keys: platform.openai.com, API keys.",
        price_list="openai",
        key_env="OPENAI_API_KEY",
        first_model="gpt-4o-mini",
    ),
    "azure": KnownProvider(
        "Azure OpenAI",
        "azure",
        f"https://{TO_COMPLETE}.openai.azure.com",
        hint="Enter your resource into the base URL. A model is named by its deployment.",
    ),
    "anthropic": KnownProvider(
        "Anthropic",
        "anthropic",
        "https://api.anthropic.com/v1",
        requests_per_minute=50,
        hint="Keys: console.anthropic.com, API keys.",
        price_list="anthropic",
        key_env="ANTHROPIC_API_KEY",
        first_model="claude-3-5-haiku-latest",
    ),
    "google": KnownProvider(
        "Google Gemini",
        "openai",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        hint="Google's OpenAI-compatible service. Keys: aistudio.google.com.",
        price_list="google",
        key_env="GEMINI_API_KEY",
        first_model="gemini-2.0-flash",
    ),
    "mistral": KnownProvider(
        "Mistral",
        "openai",
        "https://api.mistral.ai/v1",
        requests_per_minute=60,
        hint="Keys: console.mistral.ai.",
        price_list="mistral",
        key_env="MISTRAL_API_KEY",
        first_model="mistral-small-latest",
    ),
    "openrouter": KnownProvider(
        "OpenRouter",
        "openai",
        "https://openrouter.ai/api/v1",
        hint="One key for the models of many. Keys: openrouter.ai, Keys.",
        price_list="openrouter",
        key_env="OPENROUTER_API_KEY",
        first_model="openai/gpt-4o-mini",
    ),
    "groq": KnownProvider(
        "Groq",
        "openai",
        "https://api.groq.com/openai/v1",
        requests_per_minute=30,
        hint="Keys: console.groq.com. The limit is that of its free plan.",
        price_list="groq",
        key_env="GROQ_API_KEY",
        first_model="llama-3.1-8b-instant",
    ),
    "together": KnownProvider(
        "Together AI",
        "openai",
        "https://api.together.xyz/v1",
        requests_per_minute=60,
        hint="Keys: api.together.ai, Settings.",
        price_list="together",
        key_env="TOGETHER_API_KEY",
        first_model="meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ),
    "deepseek": KnownProvider(
        "DeepSeek",
        "openai",
        "https://api.deepseek.com/v1",
        hint="Keys: platform.deepseek.com.",
        price_list="deepseek",
        key_env="DEEPSEEK_API_KEY",
        first_model="deepseek-chat",
    ),
    "ollama": KnownProvider(
        "Ollama",
        "ollama",
        "http://localhost:11434",
        needs_key=False,
        max_concurrent=4,
        hint=LOCAL_HINT,
    ),
    "vllm": KnownProvider(
        "vLLM",
        "openai",
        "http://localhost:8000/v1",
        needs_key=False,
        max_concurrent=64,
        hint=LOCAL_HINT,
    ),
    "lm_studio": KnownProvider(
        "LM Studio",
        "openai",
        "http://localhost:1234/v1",
        needs_key=False,
        max_concurrent=4,
        hint=LOCAL_HINT,
    ),
    "llama_cpp": KnownProvider(
        "llama.cpp",
        "openai",
        "http://localhost:8080/v1",
        needs_key=False,
        max_concurrent=4,
        hint=f"Its llama-server. {LOCAL_HINT}",
    ),
    "app": KnownProvider(
        "Your own HTTP app",
        "app",
        "",
        needs_key=False,
        max_concurrent=4,
        hint="Enter its whole address as the base URL, what to send, and where the answer is.",
    ),
    "other": KnownProvider(
        "Other",
        "openai",
        "",
        hint="Choose the protocol that it speaks under Kind; most speak OpenAI's.",
    ),
}


AZURE_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com")
PUBLIC = [one for one in KNOWN_PROVIDERS.values() if one.base_url.startswith("https://")]


def known_provider_at(base_url: str) -> KnownProvider | None:
    """Whose address it is. None for a machine of one's own, and for what is not known."""
    host = urlsplit(base_url).hostname
    if not host:
        return None
    if host.endswith(AZURE_HOSTS):
        return KNOWN_PROVIDERS["azure"]
    return next((one for one in PUBLIC if urlsplit(one.base_url).hostname == host), None)
