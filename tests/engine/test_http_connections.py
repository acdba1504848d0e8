"""How the HTTP client opens, keeps, trusts and closes connections."""

import asyncio
import gc
import select
import socket
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from aiohappyeyeballs import start_connection

from tests.engine.proxies import listening, make_authority
from tests.engine.test_http import HANG_UP, OK, Server, served
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.table import row, table
from tests.simulator.calls import until
from workers.engine import http
from workers.engine.http.client import trusted
from workers.engine.http.connection import Connection
from workers.engine.http.resolving import Address


async def test_connections_are_used_again_or_opened_and_closed_when_nobody_needs_them():
    server = Server()
    async with served(server) as url, http.Client() as client:
        await asyncio.gather(*(client.post(url, b"{}", {}) for _ in range(5)))
        await asyncio.gather(*(client.post(url, b"{}", {}) for _ in range(5)))
    assert len(server.requests) == 10
    assert server.connections == 5
    server = Server()
    async with served(server) as url, http.Client(idle_seconds=0.05) as client:
        await client.post(url, b"{}", {})
        async with asyncio.timeout(PATIENCE_SECONDS):
            await server.hung_up.wait()
    assert len(server.requests) == 1  # it was not another call that closed it


@table(
    row([OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")], id="it says so"),
    row([OK + OK.replace(b"OK\r\n", b"OK\r\nX-Other: 1\r\n")], id="it answered twice"),
    row([OK, HANG_UP], id="it hung up"),
)
async def test_a_connection_that_should_not_be_used_again_is_not(script):
    server = Server(script)
    async with served(server) as url, http.Client() as client:
        answer = await client.post(url, b"{}", {})
        await server.hung_up.wait()
        # Until it has no connection that it would use again.
        await until(
            lambda: not any(one.is_reusable for idle in client._idle.values() for one in idle)
        )
        assert answer.headers["content-length"] == "2"
        assert "x-other" not in answer.headers  # of the second one, which is nobody's
        assert (await client.post(url, b"{}", {})).body == b"hi"
    assert server.connections == 2


async def test_a_client_that_is_closed_keeps_no_connection_and_takes_no_half_answer():
    server = Server()
    async with served(server) as url, http.Client() as client:
        waiting = asyncio.create_task(client.post(url, b"{}", {}))
        await asyncio.sleep(0)  # it connects
        await client.close()
        assert (await waiting).body == b"hi"
        async with asyncio.timeout(PATIENCE_SECONDS):
            await server.hung_up.wait()
    assert server.connections == 1
    # Half an answer is none.
    server = Server([b"HTTP/1.1 200 OK\r\n\r\nh"])
    async with served(server) as url, http.Client() as client:
        waiting = asyncio.create_task(client.post(url, b"{}", {}))
        await server.played.wait()
        await asyncio.sleep(0.01)  # the loop hears of it before any timer
        await client.close()
        with pytest.raises(http.ClosedWithoutAnswer):
            await waiting


async def test_a_kept_connection_does_not_keep_the_answer_and_a_closed_one_is_gone_at_once():
    async with served(Server()) as url, http.Client() as client:
        answer = await client.post(url, b"{}", {})
        assert not [holder for holder in gc.get_referrers(answer.body) if holder is not answer]
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    gc.collect()
    gc.disable()
    try:
        before = connections()  # of a test before
        async with served(Server([closing])) as url, http.Client() as client:
            await client.post(url, b"{}", {})
        assert connections() == before
    finally:
        gc.enable()


def connections():
    return [one for one in gc.get_objects() if type(one) is Connection]  # asks no lazy one


async def test_whoever_is_cancelled_hangs_up():
    server = Server([])
    async with served(server) as url, http.Client() as client:
        call = asyncio.create_task(client.post(url, b"{}", {}))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await server.played.wait()
            call.cancel()
            await server.hung_up.wait()
        await asyncio.wait([call])
    assert call.cancelled()


async def test_a_refusal_is_read_although_the_request_was_not():
    """The server says no, says no more, and leaves the rest of a long request where it is."""
    is_over = asyncio.Event()

    async def refuse(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\nno")
        writer.write_eof()
        await is_over.wait()
        writer.close()

    listener = await asyncio.start_server(refuse, "127.0.0.1", 0, limit=1)
    async with listener, http.Client() as client, asyncio.timeout(PATIENCE_SECONDS):
        port = listener.sockets[0].getsockname()[1]
        answer = await client.post(f"http://127.0.0.1:{port}/", bytes(2**24), {})
        is_over.set()
    assert (answer.status, answer.body) == (413, b"no")


async def test_a_connection_that_just_ended_is_not_used():
    """The loop knows of its end, and tells it to the client only in its next turn."""

    class Abrupt(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = cast("asyncio.Transport", transport)

        def data_received(self, data: bytes) -> None:
            self.transport.write(OK)
            self.transport.close()

    opened: list[socket.socket] = []

    async def connect(*given: Any, **options: Any) -> socket.socket:
        opened.append(await start_connection(*given, **options))
        return opened[-1]

    listener = await asyncio.get_running_loop().create_server(Abrupt, "127.0.0.1", 0)
    async with listener, http.Client(connect=connect) as client:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
        assert (await client.post(url, b"{}", {})).body == b"hi"
        select.select(opened, [], [], PATIENCE_SECONDS)  # the end has come this far
        await asyncio.sleep(0)
        assert (await client.post(url, b"{}", {})).body == b"hi"


def resolver(url, looked_up):
    """Every name leads to the server of this address; to none where there is no address."""

    async def resolve(host: str, _: int) -> list[Address]:
        looked_up.append(host)
        if not url:
            raise http.UnknownHost
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", urlsplit(url).port or 0))]

    return resolve


async def test_a_name_is_looked_up_once_for_all_that_wait_for_it_and_again_if_unknown():
    looked_up: list[str] = []
    async with served(Server()) as url, http.Client(resolver(url, looked_up)) as client:
        await asyncio.gather(*(client.get("http://named.example/", {}) for _ in range(5)))
    assert looked_up == ["named.example"]
    async with http.Client(resolver("", looked_up)) as client:
        for _ in range(2):
            with pytest.raises(http.UnknownHost):
                await client.get("http://named.example/", {})
    assert len(looked_up) == 3
    async with http.Client() as client:
        for impossible in (f"{'a' * 64}.example", "a..example"):
            with pytest.raises(http.UnknownHost):
                await client.get(f"http://{impossible}/", {})


async def test_a_look_up_ends_with_the_client():
    async def resolve(host: str, port: int) -> list[Address]:
        await asyncio.Event().wait()
        return []

    async with http.Client(resolve) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await client.get("http://named.example/", {})
        waiting = asyncio.create_task(client.get("http://named.example/", {}))
        await asyncio.sleep(0)
    with pytest.raises(http.Unreachable, match="closed"):
        await waiting
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_server_without_https_is_told_apart_from_none():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and nobody else will
        async with http.Client() as client:
            with pytest.raises(http.Unreachable, match="Nothing answers"):
                await client.get(f"http://127.0.0.1:{silent.getsockname()[1]}/", {})

    async def refuse(reader, writer):
        await reader.read(2**16)  # what is left unread would reset the connection
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with listening(refuse) as port, http.Client() as client:
        with pytest.raises(http.NotHttps):
            await client.get(f"https://127.0.0.1:{port}/", {})


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Of named.example at 127.0.0.1."""
    return make_authority(tmp_path_factory.mktemp("tls"), "named.example")


@contextmanager
def trusting(authority, folder, monkeypatch):
    (folder / "authority.pem").write_text(authority.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
    trusted.cache_clear()
    try:
        yield
    finally:
        trusted.cache_clear()


async def test_only_a_certificate_of_the_called_name_that_the_machine_trusts_will_do(
    authority, tmp_path, monkeypatch
):
    server = Server()
    async with served(server, authority.context) as url, http.Client() as client:
        with pytest.raises(http.BadCertificate):
            await client.post(url, b"{}", {})
        assert not server.requests
        with trusting(authority, tmp_path, monkeypatch):
            assert (await client.post(url, b"{}", {})).body == b"hi"
            assert (await client.post(url, b"{}", {})).body == b"hi"
    assert server.connections == 1  # for both
    server = Server()
    async with served(server, authority.context) as url, http.Client(resolver(url, [])) as client:
        with trusting(authority, tmp_path, monkeypatch):
            for host in ("named.example", "named.example."):
                assert (await client.get(f"https://{host}/", {})).body == b"hi"
            with pytest.raises(http.BadCertificate):
                await client.get("https://other.example/", {})
    assert len(server.requests) == 2


class StarvedConnection(Connection):
    """Gets no memory for the answer when it is whole."""

    def on_message_complete(self) -> None:
        raise MemoryError


async def test_a_lack_of_memory_is_not_taken_for_a_bad_answer():
    """It would be retried for ever, by a worker that can never have it; so it must end instead."""
    async with served(Server()) as url:
        loop, port = asyncio.get_running_loop(), urlsplit(url).port
        _, connection = await loop.create_connection(StarvedConnection, "127.0.0.1", port)
        with pytest.raises(MemoryError):
            await connection.exchange(b"GET / HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n")
