"""What the HTTP client sends and reads, and several servers behind one endpoint."""

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest

from evalsite.embedded.ports import free_port
from tests.engine.running import FakeClock
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from tests.simulator.calls import until
from workers.engine import http
from workers.engine.errors import AnswerTooLarge, ConnectionFailed
from workers.engine.providers.ollama import Ollama
from workers.engine.providers.servers import Servers
from workers.engine.records import Request
from workers.simulator.testing import running_simulator

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HANG_UP = object()
Step = bytes | object


class Server:
    """Plays the next script for every request; notes requests and connections."""

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.requests: list[bytes] = []
        self.connections = 0
        self.played, self.hung_up = asyncio.Event(), asyncio.Event()
        self.talks: set[asyncio.Task[None]] = set()

    async def talk(self, reader, writer):
        self.connections += 1
        if task := asyncio.current_task():
            self.talks.add(task)
        try:
            while head := await read_head(reader):
                self.requests.append(head)
                for step in self.scripts.pop(0) if self.scripts else [OK]:
                    if not isinstance(step, bytes):
                        return
                    writer.write(step)
                    await writer.drain()
                    await asyncio.sleep(0)
                self.played.set()
        except ConnectionError:
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):  # the client may have been first
                await writer.wait_closed()
            self.hung_up.set()


async def read_head(reader):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length or 0))


@asynccontextmanager
async def served(server, security=None):
    listener = await asyncio.start_server(server.talk, "127.0.0.1", 0, ssl=security)
    port = listener.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if security else 'http'}://127.0.0.1:{port}/v1/things?x=1"
    finally:
        listener.close()
        async with asyncio.timeout(PATIENCE_SECONDS):  # the client has hung up by now
            await asyncio.gather(*server.talks)


@pytest.fixture
def first():
    with running_simulator(latency_ms=0) as simulator:
        yield simulator


def ask(question="Name a river"):
    body = {"model": "sim-small", "messages": [{"role": "user", "content": question}]}
    return Request("gpu", "sim-small", "/chat/completions", body)


def ollama(client, servers):
    return Ollama(client, "ollama", "http://first.example", servers=servers)


def calls(simulator):
    return int(simulator.ledger()["total"])


async def test_idle_servers_take_turns_and_a_busy_one_gets_no_call(client, first, simulator):
    provider = ollama(client, Servers([first.url, simulator.url]))
    for _ in range(6):
        await provider.send(ask())
    assert (calls(first), calls(simulator)) == (3, 3)
    first.change(latency_ms=60_000)
    slow = asyncio.create_task(provider.send(ask()))
    await until(lambda: calls(first) == 4)
    for _ in range(5):
        await provider.send(ask())
    assert (calls(first), calls(simulator)) == (4, 8)
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)
    first.change(latency_ms=0)
    await provider.send(ask())
    assert calls(first) == 5  # a cancelled call is no load any more


async def test_a_dead_server_costs_no_call_and_comes_back(client, simulator):
    clock, port = FakeClock(), free_port()
    servers = Servers([f"http://127.0.0.1:{port}", simulator.url], clock.monotonic)
    provider = ollama(client, servers)
    for _ in range(4):
        assert (await provider.send(ask())).text
    assert calls(simulator) == 4
    with running_simulator(port=port, latency_ms=0) as back:
        clock.now += 4.9
        await provider.send(ask())
        assert calls(back) == 0
        clock.now += 0.2
        for _ in range(4):
            await provider.send(ask())
        assert calls(back) == 2
    assert calls(simulator) == 7


async def test_a_server_that_stays_dead_is_tried_less_and_less_often():
    clock = FakeClock()
    servers = Servers(["dead", "alive"], clock.monotonic)
    tried: list[float] = []

    async def send(url: str) -> str:
        if url == "dead":
            tried.append(clock.now)
            raise http.Unreachable("no")
        return url

    start = clock.now
    for _ in range(400):
        assert await servers.call(send) == "alive"
        clock.now += 0.5
    assert [at - start for at in tried] == [0, 5, 15, 35, 75, 135, 195]


async def test_many_calls_that_find_it_dead_together_count_once():
    clock = FakeClock()
    servers = Servers(["dead", "alive"], clock.monotonic)
    tried: list[str] = []
    go = asyncio.Event()

    async def send(url: str) -> str:
        tried.append(url)
        await go.wait()
        if url == "dead":
            raise http.Unreachable("no")
        return url

    crowd = [asyncio.create_task(servers.call(send)) for _ in range(6)]
    await asyncio.sleep(0)  # all have begun
    go.set()
    assert await asyncio.gather(*crowd) == ["alive"] * 6
    assert tried.count("dead") == 3
    clock.now += 5
    await servers.call(send)
    assert tried.count("dead") == 4


async def test_while_a_call_probes_the_others_stay_away():
    clock = FakeClock()
    servers = Servers(["back", "alive"], clock.monotonic)
    is_dead = True
    arrived, answer = asyncio.Event(), asyncio.Event()

    async def send(url: str) -> str:
        if url == "back" and is_dead:
            raise http.Unreachable("no")
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


async def test_when_all_are_out_the_call_fails_as_a_connection_and_a_single_one_is_asked(client):
    urls = [f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{(port := free_port())}"]
    all_out, single = ollama(client, Servers(urls)), ollama(client, Servers(urls[1:]))
    for _ in range(2):
        with pytest.raises(ConnectionFailed, match="None of the 2 servers can be reached"):
            await all_out.send(ask())
        with pytest.raises(ConnectionFailed, match="Nothing answers"):
            await single.send(ask())
    with running_simulator(port=port, latency_ms=0):
        assert (await single.send(ask())).text


INTERIM = b"HTTP/1.1 199 Soon\r\nContent-Length: 4\r\n\r\nsoon"


@table(
    row([OK], id="with its length"),
    row([OK[:30], OK[30:-1], OK[-1:]], id="in pieces"),
    row([CHUNKED + b"1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"], id="chunked"),
    row([CHUNKED + b"2\r\nhi\r\n0\r\nSum: 1\r\n\r\n"], id="with a trailer"),
    row([b"HTTP/1.0 200 OK\r\n\r\nh", b"i", HANG_UP], id="until the connection ends"),
    row([b"HTTP/1.1 100 Continue\r\n\r\n" + OK], id="after an interim answer"),
    row([INTERIM + OK], id="after an interim answer with a body"),
    row([OK.replace(b"200 OK", b"302 Found\r\nLocation: http://elsewhere/")], id="a redirect"),
)
async def test_an_answer_is_read_however_it_is_framed(script):
    server = Server(script)
    async with served(server) as url, http.Client() as client:
        answer = await client.post(url, b"{}", {})
    assert (answer.status, answer.body) == (302 if b"Location" in script[0] else 200, b"hi")
    assert len(server.requests) == 1


def large(head):
    return [b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n", *[b"x" * 65536] * 80]


LONG, END = [b"x" * 9999] * 9, b"\r\n\r\n"
UPGRADE = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"


@table(
    row([HANG_UP], http.ClosedWithoutAnswer, id="no answer"),
    row([OK[:20], HANG_UP], http.ClosedWithoutAnswer, id="half a head"),
    row([OK[:-1], HANG_UP], http.BrokenOff, id="half a body"),
    row([b"SSH-2.0-OpenSSH\r\n\r\n"], http.NotHttp, id="another protocol"),
    row([UPGRADE], http.NotHttp, id="an upgrade nobody asked for"),
    row([b"HTTP/1.1 200 OK\r\nA: ", *LONG], AnswerTooLarge, id="a long head"),
    row([CHUNKED + b"2\r\nhi\r\n0\r\nA: ", *LONG, END], AnswerTooLarge, id="a long trailer"),
    row([CHUNKED + b"2;a=", *LONG, b"\r\nhi\r\n0", END], AnswerTooLarge, id="a chunk's long note"),
    row(large(b"Content-Length: 5000000"), AnswerTooLarge, id="announced as too long"),
    row(large(b"Connection: close"), AnswerTooLarge, id="too long without a word"),
)
async def test_what_is_no_answer_has_a_name(script, error):
    server = Server(script)
    async with served(server) as url, http.Client() as client:
        with pytest.raises(error):
            await client.post(url, b"{}", {})
        # What was left of it is nobody's answer.
        assert (await client.post(url, b"{}", {})).body == b"hi"
    assert server.connections == 2


async def test_answers_of_the_largest_size_and_of_many_small_chunks_are_read():
    body = b"x" * http.MAX_ANSWER_BYTES
    script: list[Step] = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body), body]
    async with served(Server(script)) as url, http.Client() as client:
        assert (await client.get(url, {})).body == body
    script = [CHUNKED + b"1\r\nx\r\n" * 50_000 + b"0\r\n\r\n"]
    async with served(Server(script)) as url, http.Client() as client:
        assert (await client.get(url, {})).body == b"x" * 50_000


async def test_a_request_is_written_as_the_server_expects_it_and_no_header_brings_another_along():
    server = Server()
    async with served(server) as url, http.Client() as client:
        await client.post(url, b'{"a": 1}', {"Authorization": "Bearer key"})
        await client.get(url, {})
        for value in ("a\r\nX-More: 1", "a\nb", "a\rb"):
            with pytest.raises(ValueError, match="line break"):
                await client.post(url, b"", {"Authorization": value})
    assert len(server.requests) == 2
    first, *headers = server.requests[0].split(b"\r\n")
    assert first == b"POST /v1/things?x=1 HTTP/1.1"
    assert headers[-1] == b'{"a": 1}'
    host = url.partition("://")[2].partition("/")[0]
    assert {f"Host: {host}".encode(), b"Accept-Encoding: identity"} <= set(headers)
    assert {b"Content-Length: 8", b"Authorization: Bearer key"} <= set(headers)
    assert server.requests[1].startswith(b"GET /v1/things?x=1 HTTP/1.1\r\n")
