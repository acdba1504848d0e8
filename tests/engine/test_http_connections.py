"""How the HTTP client opens, keeps, trusts and closes connections."""

import asyncio
import datetime
import gc
import ipaddress
import select
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from aiohappyeyeballs import start_connection
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.engine.http_servers import HANG_UP, OK, Server, Step, served
from tests.harness.patience import PATIENCE_SECONDS
from tests.simulator.calls import until
from workers.engine.http import (
    BadCertificate,
    Client,
    ClosedWithoutAnswer,
    NotHttps,
    UnknownHost,
    Unreachable,
)
from workers.engine.http.client import trusted
from workers.engine.http.connection import Connection
from workers.engine.http.resolving import Address


async def test_connections_are_used_again_and_opened_when_all_are_in_use() -> None:
    server = Server()
    async with served(server) as url, Client() as client:
        await asyncio.gather(*(client.post(url, b"{}", {}) for _ in range(5)))
        await asyncio.gather(*(client.post(url, b"{}", {}) for _ in range(5)))
    assert len(server.requests) == 10
    assert server.connections == 5


def is_kept(client: Client) -> bool:
    """Whether it has a connection that it would use again."""
    return any(one.is_reusable for idle in client._idle.values() for one in idle)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")], id="it says so"),
        pytest.param([OK + OK], id="it answered twice"),
        pytest.param([OK, HANG_UP], id="it hung up"),
    ],
)
async def test_a_connection_that_should_not_be_used_again_is_not(script: list[Step]) -> None:
    server = Server(script)
    async with served(server) as url, Client() as client:
        await client.post(url, b"{}", {})
        await server.hung_up.wait()
        await until(lambda: not is_kept(client))
        assert (await client.post(url, b"{}", {})).body == b"hi"
    assert server.connections == 2


async def test_connections_that_nobody_needs_any_more_are_closed() -> None:
    server = Server()
    async with served(server) as url, Client(idle_seconds=0.05) as client:
        await client.post(url, b"{}", {})
        async with asyncio.timeout(PATIENCE_SECONDS):
            await server.hung_up.wait()
    assert len(server.requests) == 1  # it was not another call that closed it


async def test_a_client_that_is_closed_keeps_no_connection() -> None:
    server = Server()
    async with served(server) as url, Client() as client:
        waiting = asyncio.create_task(client.post(url, b"{}", {}))
        await asyncio.sleep(0)  # it connects
        await client.close()
        assert (await waiting).body == b"hi"
        async with asyncio.timeout(PATIENCE_SECONDS):
            await server.hung_up.wait()
    assert server.connections == 1


async def test_a_kept_connection_does_not_keep_the_answer() -> None:
    async with served(Server()) as url, Client() as client:
        answer = await client.post(url, b"{}", {})
        assert not [holder for holder in gc.get_referrers(answer.body) if holder is not answer]


async def test_a_closed_connection_is_gone_without_the_collector() -> None:
    closing = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    gc.collect()
    gc.disable()
    try:
        before = connections()  # of a test before
        async with served(Server([closing])) as url, Client() as client:
            await client.post(url, b"{}", {})
        assert connections() == before
    finally:
        gc.enable()


def connections() -> list[Connection]:
    return [one for one in gc.get_objects() if type(one) is Connection]  # asks no lazy one


async def test_a_second_answer_is_nobodys() -> None:
    other = OK.replace(b"OK\r\n", b"OK\r\nX-Other: 1\r\n")
    async with served(Server([OK + other])) as url, Client() as client:
        answer = await client.post(url, b"{}", {})
        assert (await client.post(url, b"{}", {})).body == b"hi"  # at once
    assert answer.headers == {"content-length": "2"}


async def test_whoever_is_cancelled_hangs_up() -> None:
    server = Server([])
    async with served(server) as url, Client() as client:
        call = asyncio.create_task(client.post(url, b"{}", {}))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await server.played.wait()
            call.cancel()
            await server.hung_up.wait()
        await asyncio.wait([call])
    assert call.cancelled()


async def test_half_an_answer_is_none_when_the_client_is_closed() -> None:
    server = Server([b"HTTP/1.1 200 OK\r\n\r\nh"])
    async with served(server) as url, Client() as client:
        waiting = asyncio.create_task(client.post(url, b"{}", {}))
        await server.played.wait()
        await asyncio.sleep(0.01)  # the loop hears of it before any timer
        await client.close()
        with pytest.raises(ClosedWithoutAnswer):
            await waiting


async def test_a_refusal_is_read_although_the_request_was_not() -> None:
    """The server says no, says no more, and leaves the rest of a long request where it is."""
    is_over = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\nno")
        writer.write_eof()
        await is_over.wait()
        writer.close()

    listener = await asyncio.start_server(refuse, "127.0.0.1", 0, limit=1)
    async with listener, Client() as client, asyncio.timeout(PATIENCE_SECONDS):
        port = listener.sockets[0].getsockname()[1]
        answer = await client.post(f"http://127.0.0.1:{port}/", bytes(2**24), {})
        is_over.set()
    assert (answer.status, answer.body) == (413, b"no")


async def test_a_connection_that_just_ended_is_not_used() -> None:
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
    async with listener, Client(connect=connect) as client:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
        assert (await client.post(url, b"{}", {})).body == b"hi"
        select.select(opened, [], [], PATIENCE_SECONDS)  # the end has come this far
        await asyncio.sleep(0)
        assert (await client.post(url, b"{}", {})).body == b"hi"


def resolver(port: int, looked_up: list[str]) -> Callable[[str, int], Awaitable[list[Address]]]:
    async def resolve(host: str, _: int) -> list[Address]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]

    return resolve


async def test_a_name_is_looked_up_once_for_all_that_wait_for_it() -> None:
    looked_up: list[str] = []
    async with served(Server()) as url:
        port = int(url.split(":")[2].split("/")[0])
        async with Client(resolver(port, looked_up)) as client:
            await asyncio.gather(*(client.get("http://named.example/", {}) for _ in range(5)))
    assert looked_up == ["named.example"]


async def test_a_name_that_is_not_known_is_looked_up_again() -> None:
    looked_up: list[str] = []

    async def resolve(host: str, port: int) -> list[Address]:
        looked_up.append(host)
        raise UnknownHost

    async with Client(resolve) as client:
        for _ in range(2):
            with pytest.raises(UnknownHost):
                await client.get("http://named.example/", {})
    assert len(looked_up) == 2


@pytest.mark.parametrize("host", [f"{'a' * 64}.example", "a..example"])
async def test_a_name_that_nobody_can_have_is_not_known(host: str) -> None:
    async with Client() as client:
        with pytest.raises(UnknownHost):
            await client.get(f"http://{host}/", {})


async def test_a_look_up_ends_with_the_client() -> None:
    async def resolve(host: str, port: int) -> list[Address]:
        await asyncio.Event().wait()
        return []

    async with Client(resolve) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await client.get("http://named.example/", {})
        waiting = asyncio.create_task(client.get("http://named.example/", {}))
        await asyncio.sleep(0)
    with pytest.raises(Unreachable, match="closed"):
        await waiting
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_nothing_answers_where_nobody_listens() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and nobody else will
        async with Client() as client:
            with pytest.raises(Unreachable, match="Nothing answers"):
                await client.get(f"http://127.0.0.1:{silent.getsockname()[1]}/", {})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of named.example at 127.0.0.1, who signed it itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    names = [address, x509.DNSName("named.example")]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def security(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@contextmanager
def trusting(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trusted.cache_clear()
    try:
        yield
    finally:
        trusted.cache_clear()


async def test_only_a_certificate_that_the_machine_trusts_will_do(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()
    async with served(server, security(certificate)) as url, Client() as client:
        with pytest.raises(BadCertificate):
            await client.post(url, b"{}", {})
        assert not server.requests
        with trusting(certificate, monkeypatch):
            assert (await client.post(url, b"{}", {})).body == b"hi"
            assert (await client.post(url, b"{}", {})).body == b"hi"
    assert server.connections == 1  # for both


async def test_a_certificate_is_of_the_name_that_was_called(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server()
    async with served(server, security(certificate)) as url:
        port = int(url.split(":")[2].split("/")[0])
        async with Client(resolver(port, [])) as client:
            with trusting(certificate, monkeypatch):
                for host in ("named.example", "named.example."):
                    assert (await client.get(f"https://{host}/", {})).body == b"hi"
                with pytest.raises(BadCertificate):
                    await client.get("https://other.example/", {})
    assert len(server.requests) == 2


async def test_a_server_without_https_is_told_apart() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(2**16)  # what is left unread would reset the connection
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as listener, Client() as client:
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(NotHttps):
            await client.get(f"https://127.0.0.1:{port}/", {})


class StarvedConnection(Connection):
    """Gets no memory for the answer when it is whole."""

    def on_message_complete(self) -> None:
        raise MemoryError


async def test_a_lack_of_memory_is_not_taken_for_a_bad_answer() -> None:
    """It would be retried for ever, by a worker that can never have it; so it must end instead."""
    async with served(Server()) as url:
        place, loop = urlsplit(url), asyncio.get_running_loop()
        host, port = str(place.hostname), int(place.port or 0)
        _, connection = await loop.create_connection(StarvedConnection, host, port)
        with pytest.raises(MemoryError):
            await connection.exchange(b"GET / HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n")
