"""Keeps connections open between exchanges, and opens more when all are in use."""

import asyncio
import socket
import ssl
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from types import TracebackType
from typing import NamedTuple, Self

from aiohappyeyeballs import start_connection
from yarl import URL

from workers.engine.http.connection import Answer, Connection
from workers.engine.http.errors import BadCertificate, NotHttps, UnknownHost, Unreachable
from workers.engine.http.resolving import Address, Addresses, Resolver, look_up
from workers.engine.http.tunnels import open_tunnel
from workers.engine.http.way import DIRECTLY, Proxy, Way

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 30.0  # servers close what is idle for longer, perhaps just when it is used again
LOOK_UP_SECONDS = 2.0  # of a name that the proxy looks up anyway
SECOND_ADDRESS_SECONDS = 0.25  # when the first of several addresses is slow to answer

Connect = Callable[..., Awaitable[socket.socket]]


class Place(NamedTuple):
    """Where connections lead."""

    host: str
    port: int
    is_secure: bool


class Target(NamedTuple):
    place: Place
    path: str
    host_header: str


class Client:
    """One per process. How many exchanges go on at once is decided elsewhere."""

    def __init__(
        self,
        resolve: Resolver = look_up,
        idle_seconds: float = IDLE_SECONDS,
        connect: Connect = start_connection,
        way: Way = DIRECTLY,
        resolve_proxy: Resolver = look_up,
    ) -> None:
        self._addresses = Addresses(resolve)
        self._start_connection = connect
        self._way = way
        self._resolve_proxy = resolve_proxy
        self._idle_seconds = idle_seconds
        self._idle: dict[Place, deque[Connection]] = defaultdict(deque)
        self._in_use: set[Connection] = set()
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._addresses.close()
        for connection in [*self._in_use, *(one for idle in self._idle.values() for one in idle)]:
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # transports close in the next turn of the loop

    async def get(self, url: str, headers: Mapping[str, str]) -> Answer:
        return await self.send("GET", url, headers, b"")

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        return await self.send("POST", url, headers, body)

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        target = read_url(url)
        message = head_of(method, target, headers, len(body)) + body
        connection = self._take(target.place) or await self._connect(target.place)
        self._in_use.add(connection)
        try:
            return await connection.exchange(message)
        finally:
            self._in_use.discard(connection)
            if connection.is_reusable:
                self._keep(target.place, connection)

    def _take(self, place: Place) -> Connection | None:
        """The one used last: the others may rest until they are not needed any more."""
        idle, now = self._idle[place], time.monotonic()
        while idle:
            connection = idle.pop()
            if connection.is_reusable and now - connection.idle_since < self._idle_seconds:
                return connection
            connection.close()
        return None

    def _keep(self, place: Place, connection: Connection) -> None:
        if self._is_closed:  # while this exchange went on
            connection.close()
            return
        connection.idle_since = time.monotonic()
        self._idle[place].append(connection)
        if self._timer is None:
            self._ring_later()

    def _ring_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._close_old)

    def _close_old(self) -> None:
        """Also those to places that nobody calls any more."""
        self._timer, now = None, time.monotonic()
        for place, idle in list(self._idle.items()):
            while idle and now - idle[0].idle_since >= self._idle_seconds:
                idle.popleft().close()
            if not idle:
                del self._idle[place]
        if self._idle:
            self._ring_later()

    async def _connect(self, place: Place) -> Connection:
        addresses = await self._look_up(place)
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                sock = await self._open(place, addresses)
                security = trusted(self._way.ca_bundle) if place.is_secure else None
                _, connection = await asyncio.get_running_loop().create_connection(
                    Connection,
                    sock=sock,
                    ssl=security,
                    # Certificates name hosts without the dot that makes a name a full one.
                    server_hostname=place.host.rstrip(".") if security else None,
                )
        except ssl.SSLCertVerificationError:
            raise BadCertificate from None
        except ssl.SSLError:
            raise NotHttps from None
        except TimeoutError:
            raise Unreachable("It did not accept a connection in time.") from None
        except (OSError, RuntimeError):  # the latter is how uvloop says some of the former
            raise Unreachable from None
        return connection

    async def _look_up(self, place: Place) -> list[Address]:
        """Also for a proxy that is told the name: an address that may not be called is refused as
        far as it is known here. Behind a proxy the names of the world often are not."""
        if self._proxy_to(place) is None or not self._way.tells_names:
            return await self._addresses.of(place.host, place.port)
        try:
            async with asyncio.timeout(LOOK_UP_SECONDS):
                return await self._addresses.of(place.host, place.port)
        except (UnknownHost, TimeoutError):
            return []

    async def _open(self, place: Place, addresses: list[Address]) -> socket.socket:
        proxy = self._proxy_to(place)
        if proxy is None:
            return await self._start_connection(
                addresses, happy_eyeballs_delay=SECOND_ADDRESS_SECONDS, interleave=1
            )
        found = [str(address[4][0]) for address in addresses]
        hosts = [place.host] if self._way.tells_names else found
        return await open_tunnel(proxy, hosts, place.port, self._resolve_proxy, CONNECT_SECONDS)

    def _proxy_to(self, place: Place) -> Proxy | None:
        return self._way.proxy_to(place.host, is_secure=place.is_secure)


@lru_cache(maxsize=64)
def trusted(ca_bundle: str = "") -> ssl.SSLContext:
    """Whom the machine trusts, and whom these certificates name. Reading its list takes a while:
    once."""
    context = ssl.create_default_context()
    if ca_bundle:
        context.load_verify_locations(cadata=ca_bundle)
    context.set_alpn_protocols(["http/1.1"])
    return context


@lru_cache(maxsize=1024)
def read_url(url: str) -> Target:
    read = URL(url)
    place = Place(read.raw_host or "", read.port or 0, is_secure=read.scheme == "https")
    return Target(place, read.raw_path_qs or "/", read.host_port_subcomponent or "")


def head_of(method: str, target: Target, headers: Mapping[str, str], length: int) -> bytes:
    """A small compressed answer may unpack to gigabytes, so none is asked for."""
    lines = [
        f"{method} {target.path} HTTP/1.1",
        f"Host: {target.host_header}",
        "Accept-Encoding: identity",
        *([f"Content-Length: {length}"] if method != "GET" else []),
        *[f"{name}: {value}" for name, value in headers.items()],
    ]
    head = "\r\n".join(lines)
    if head.count("\n") >= len(lines) or head.count("\r") >= len(lines):
        raise ValueError("A header has a line break in it.")
    return f"{head}\r\n\r\n".encode()
