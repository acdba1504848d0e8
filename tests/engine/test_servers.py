"""Several servers behind one endpoint: the least loaded is asked, a dead one is left out."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from evalsite.embedded.ports import free_port
from tests.engine.fake_clock import FakeClock
from tests.simulator.calls import until
from workers.engine.errors import ConnectionFailed
from workers.engine.http import Client, Unreachable
from workers.engine.providers.ollama import Ollama
from workers.engine.providers.servers import Servers
from workers.engine.records import Request
from workers.simulator.testing import SimulatorClient, running_simulator


@pytest.fixture
def first() -> Iterator[SimulatorClient]:
    with running_simulator(latency_ms=0) as simulator:
        yield simulator


@pytest.fixture
def second() -> Iterator[SimulatorClient]:
    with running_simulator(latency_ms=0) as simulator:
        yield simulator


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Client() as session:
        yield session


def ask(question: str = "Name a river") -> Request:
    messages = [{"role": "user", "content": question}]
    body = {"model": "sim-small", "messages": messages}
    return Request("gpu", "sim-small", "/chat/completions", body)


def ollama(client: Client, servers: Servers) -> Ollama:
    return Ollama(client, "ollama", "http://first.example", servers=servers)


def calls(simulator: SimulatorClient) -> int:
    return int(simulator.ledger()["total"])


async def test_idle_servers_take_turns(
    client: Client, first: SimulatorClient, second: SimulatorClient
) -> None:
    provider = ollama(client, Servers([first.url, second.url]))
    for _ in range(6):
        await provider.send(ask())
    assert (calls(first), calls(second)) == (3, 3)


async def test_a_busy_server_gets_no_call_while_another_is_idle(
    client: Client, first: SimulatorClient, second: SimulatorClient
) -> None:
    first.change(latency_ms=60_000)
    provider = ollama(client, Servers([first.url, second.url]))
    slow = asyncio.create_task(provider.send(ask()))
    await until(lambda: calls(first) == 1)
    for _ in range(5):
        await provider.send(ask())
    assert (calls(first), calls(second)) == (1, 5)
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)
    first.change(latency_ms=0)
    await provider.send(ask())
    assert calls(first) == 2  # a cancelled call is no load any more


async def test_a_dead_server_costs_no_call_and_comes_back(
    client: Client, second: SimulatorClient
) -> None:
    clock, port = FakeClock(), free_port()
    servers = Servers([f"http://127.0.0.1:{port}", second.url], clock.monotonic)
    provider = ollama(client, servers)
    for _ in range(4):
        assert (await provider.send(ask())).text
    assert calls(second) == 4
    with running_simulator(port=port, latency_ms=0) as back:
        clock.now += 4.9
        await provider.send(ask())
        assert calls(back) == 0
        clock.now += 0.2
        for _ in range(4):
            await provider.send(ask())
        assert calls(back) == 2
    assert calls(second) == 7


async def test_a_server_that_stays_dead_is_tried_less_and_less_often() -> None:
    clock = FakeClock()
    servers = Servers(["dead", "alive"], clock.monotonic)
    tried: list[float] = []

    async def send(url: str) -> str:
        if url == "dead":
            tried.append(clock.now)
            raise Unreachable("no")
        return url

    start = clock.now
    for _ in range(400):
        assert await servers.call(send) == "alive"
        clock.now += 0.5
    assert [at - start for at in tried] == [0, 5, 15, 35, 75, 135, 195]


async def test_many_calls_that_find_it_dead_together_count_once() -> None:
    clock = FakeClock()
    servers = Servers(["dead", "alive"], clock.monotonic)
    tried: list[str] = []
    go = asyncio.Event()

    async def send(url: str) -> str:
        tried.append(url)
        await go.wait()
        if url == "dead":
            raise Unreachable("no")
        return url

    crowd = [asyncio.create_task(servers.call(send)) for _ in range(6)]
    await asyncio.sleep(0)  # all have begun
    go.set()
    assert await asyncio.gather(*crowd) == ["alive"] * 6
    assert tried.count("dead") == 3
    clock.now += 5
    await servers.call(send)
    assert tried.count("dead") == 4


async def test_while_a_call_probes_the_others_stay_away() -> None:
    clock = FakeClock()
    servers = Servers(["back", "alive"], clock.monotonic)
    is_dead = True
    arrived, answer = asyncio.Event(), asyncio.Event()

    async def send(url: str) -> str:
        if url == "back" and is_dead:
            raise Unreachable("no")
        if url == "back":
            arrived.set()
            await answer.wait()
        return url

    assert await servers.call(send) == "alive"
    is_dead = False
    clock.now += 5
    probe = asyncio.create_task(servers.call(send))
    await arrived.wait()
    assert [await servers.call(send) for _ in range(3)] == ["alive"] * 3
    answer.set()
    assert await probe == "back"
    assert {await servers.call(send) for _ in range(2)} == {"back", "alive"}


async def test_when_all_are_out_the_call_fails_as_a_connection(
    client: Client,
) -> None:
    urls = [f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"]
    provider = ollama(client, Servers(urls))
    for _ in range(2):
        with pytest.raises(ConnectionFailed, match="None of the 2 servers can be reached"):
            await provider.send(ask())


async def test_a_single_server_is_asked_every_time(client: Client) -> None:
    port = free_port()
    provider = ollama(client, Servers([f"http://127.0.0.1:{port}"]))
    with pytest.raises(ConnectionFailed, match="Nothing answers"):
        await provider.send(ask())
    with running_simulator(port=port, latency_ms=0):
        assert (await provider.send(ask())).text
