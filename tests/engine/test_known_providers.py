"""The registry of providers by name: every entry can be entered as it is."""

import pytest

from workers.engine.providers import PROVIDERS
from workers.engine.providers.addresses import AddressPolicy, check_url, place_of
from workers.engine.providers.known import KNOWN_PROVIDERS, TO_COMPLETE, known_provider_at
from workers.engine.providers.model_lists import openai_names

FILLED_IN = [name for name, known in KNOWN_PROVIDERS.items() if known.base_url]


@pytest.mark.parametrize("name", KNOWN_PROVIDERS)
def test_every_provider_speaks_a_protocol_that_we_have(name: str) -> None:
    known = KNOWN_PROVIDERS[name]
    assert known.kind in PROVIDERS
    assert known.max_concurrent >= 1
    assert known.title
    assert known.hint.endswith(".")


@pytest.mark.parametrize("name", FILLED_IN)
def test_every_address_may_be_called_once_a_private_one_is_allowed(name: str) -> None:
    url = KNOWN_PROVIDERS[name].base_url
    port = url.split(":")[-1].split("/")[0]
    local = place_of("localhost", int(port)) if "localhost" in url else ""
    assert check_url(url, AddressPolicy(frozenset({local} - {""})))


@pytest.mark.parametrize(
    ("url", "title"),
    [
        ("https://api.groq.com/openai/v1", "Groq"),
        ("https://API.OpenAI.com/v1", "OpenAI"),
        ("https://my-resource.openai.azure.com", "Azure OpenAI"),
        ("https://openrouter.ai/api/v1", "OpenRouter"),
        ("https://api.groq.com.evil.example/v1", None),
        ("http://localhost:11434", None),
        ("https://provider.example/v1", None),
        ("", None),
    ],
)
def test_whose_address_it_is(url: str, title: str | None) -> None:
    found = known_provider_at(url)
    assert (found.title if found else None) == title


def test_what_a_person_must_complete_is_in_an_address() -> None:
    assert TO_COMPLETE in KNOWN_PROVIDERS["azure"].base_url


@pytest.mark.parametrize("document", [{"data": [{"id": "a/b"}]}, [{"id": "a/b"}]])
def test_a_list_of_models_may_come_bare(document: object) -> None:
    assert openai_names(document) == ["a/b"]
