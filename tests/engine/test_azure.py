"""Azure's addresses, on the simulated provider, which asks for Azure's own header and version."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from workers.engine.errors import Refused
from workers.engine.http import Client
from workers.engine.providers import PROVIDERS, Manner, Provider
from workers.engine.providers.azure import Azure
from workers.engine.records import Request
from workers.simulator.testing import SimulatorClient

KEY = "canary-0123456789abcdef"
VERSION = {"api_version": "2024-10-21"}


def ask(model: str = "sim-large") -> Request:
    body = {"model": model, "messages": [{"role": "user", "content": "What is 17 + 25?"}]}
    return Request("main", model, "/chat/completions", body)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client() as opened:
        yield opened


def azure(
    client: Client, simulator: SimulatorClient, options: dict[str, Any], key: str = KEY
) -> Provider:
    return PROVIDERS["azure"](client, "azure", simulator.url, key, None, Manner(options=options))


@pytest.mark.parametrize(
    ("options", "path"),
    [
        pytest.param(
            VERSION,
            "/openai/deployments/my%20gpt%2F4/chat/completions?api-version=2024-10-21",
            id="a deployment and its version",
        ),
        pytest.param({}, "/openai/v1/chat/completions", id="without a version"),
    ],
)
def test_where_a_call_goes(options: dict[str, Any], path: str) -> None:
    assert Azure.written(ask("my gpt/4"), options).path == path


@pytest.mark.parametrize("options", [VERSION, {}], ids=["versioned", "without a version"])
async def test_both_forms_answer_as_openai_does(
    client: Client, simulator: SimulatorClient, options: dict[str, Any]
) -> None:
    usual = PROVIDERS["openai"](client, "openai", f"{simulator.url}/v1", KEY)
    assert (await azure(client, simulator, options).send(ask())).text == (
        await usual.send(ask())
    ).text


async def test_a_deployment_that_is_not_there_is_told(
    client: Client, simulator: SimulatorClient
) -> None:
    with pytest.raises(Refused, match="404"):
        await azure(client, simulator, VERSION).send(ask("no-such-deployment"))


async def test_the_key_goes_in_the_header_that_azure_reads(
    client: Client, simulator: SimulatorClient
) -> None:
    for key in ("", "one", "two"):
        await azure(client, simulator, VERSION, key).send(ask())
    assert len({row["key"] for row in simulator.requests()}) == 3
