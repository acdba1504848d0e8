"""A simulated provider that answers at once, and an HTTP client that talks to it."""

import aiohttp
import pytest

from workers.simulator.testing import running_simulator


@pytest.fixture
def simulator():
    with running_simulator(latency_ms=0) as running:
        yield running


@pytest.fixture
async def client(simulator):
    how = {"connector": aiohttp.TCPConnector(limit=0), "headers": simulator.headers}
    async with aiohttp.ClientSession(simulator.url, **how) as session:
        yield session
