"""A simulated provider that answers at once, and an HTTP client that talks to it."""

from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from workers.simulator.testing import SimulatorClient, running_simulator


@pytest.fixture
def simulator() -> Iterator[SimulatorClient]:
    with running_simulator(latency_ms=0) as running:
        yield running


@pytest.fixture
async def client(simulator: SimulatorClient) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(
        simulator.url, connector=connector, headers=simulator.headers
    ) as session:
        yield session
