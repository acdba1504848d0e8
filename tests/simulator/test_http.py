"""HTTP itself: keep-alive, pipelining, many connections, and clients that do not speak it."""

import asyncio
import json
from contextlib import ExitStack, asynccontextmanager

import pytest

from tests.simulator.calls import CHAT, ask_all, chat, until
from workers.simulator.testing import running_simulator


def encode(body, path=CHAT, headers=""):
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n{headers}\r\n"
    return head.encode() + data


@asynccontextmanager
async def connected(simulator):
    port = int(simulator.url.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    yield reader, writer
    writer.close()


async def read_reply(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
    return head, json.loads(await reader.readexactly(length))


async def test_pipelined_requests_are_answered_in_order(simulator):
    models = ["sim-small", "sim-large", "sim-small:503", "sim-medium"] * 50
    async with connected(simulator) as (reader, writer):
        for latency_ms in (0, 20):
            simulator.change(latency_ms=latency_ms, jitter=1)
            writer.write(b"".join(encode(chat("hi", model=model)) for model in models))
            answers = [await read_reply(reader) for _ in models]
            assert [body.get("model", "sim-small:503") for _, body in answers] == models


async def test_a_connection_serves_requests_in_pieces_until_its_client_asks_to_close_it(simulator):
    async with connected(simulator) as (reader, writer):
        for byte in encode(chat("hi")):
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await read_reply(reader))[0].startswith("HTTP/1.1 200 OK")
        expecting = encode(chat("hi"), headers="Expect: 100-continue\r\n")
        head, _, body = expecting.partition(b"\r\n\r\n")
        writer.write(head + b"\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(body)  # now that it has the permission
        assert (await read_reply(reader))[0].startswith("HTTP/1.1 200 OK")
        writer.write(encode(chat("hi"), headers="Connection: close\r\n"))
        assert "connection: close" in (await read_reply(reader))[0]
        assert await reader.read() == b""


async def test_what_is_no_http_gets_400_and_is_disconnected(simulator):
    for noise in (b"\x16\x03\x01\x02\x00", b"HELLO\r\n\r\n", b"GET / HTTP/9\r\n\r\n"):
        async with connected(simulator) as (reader, writer):
            writer.write(noise)
            assert (await reader.read()).startswith(b"HTTP/1.1 400"), noise


async def test_a_head_request_gets_no_body(client):
    async with client.head("/v1/models") as response:
        assert response.status == 405
    async with client.get("/v1/models") as response:
        assert response.status == 200


async def test_more_than_a_thousand_connections_are_served_at_once(client, simulator):
    simulator.change(gather=1001)
    answers = await ask_all(client, [chat(f"What is {n} + 1?") for n in range(1010)])
    assert {answered.status for answered in answers} == {200}
    assert simulator.ledger()["peak_in_flight"] > 1000


async def test_the_server_stops_though_a_client_is_connected():
    with ExitStack() as running:
        simulator = running.enter_context(running_simulator(latency_ms=0))
        async with connected(simulator) as (_, writer):
            writer.write(encode(chat("hi", model="sim-small:hang")))
            await until(lambda: simulator.ledger()["in_flight"] == 1)
            running.close()
    with pytest.raises(ConnectionRefusedError):
        await connected(simulator).__aenter__()
