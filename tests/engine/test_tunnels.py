"""Calls through real proxies, where private addresses are guarded, too."""

import ipaddress
import struct
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path

import pytest

from tests.engine import proxies
from tests.harness.table import row, table
from workers.engine import http
from workers.engine.errors import ForbiddenAddress
from workers.engine.http.client import read_url
from workers.engine.providers.addresses import AddressPolicy
from workers.engine.providers.resolver import GuardedResolver

HOST = "models.company.example"
PROXY = http.Proxy("http", "proxy.example", 3128)


@asynccontextmanager
async def socks_proxy(password=""):
    proxy = proxies.PlayedProxy(password=password)

    async def serve(reader, writer):
        _, methods = await reader.readexactly(2)
        await reader.readexactly(methods)
        writer.write(b"\x05\x02" if proxy.password else b"\x05\x00")
        if proxy.password and not await is_known(proxy, reader, writer):
            return
        _, _, _, kind = await reader.readexactly(4)
        host = await read_host(kind, reader)
        (port,) = struct.unpack("!H", await reader.readexactly(2))
        writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        await proxies.join(proxy, host, port, reader, writer)

    async with proxies.listening(serve) as proxy.port:
        yield proxy


async def read_text(reader):
    """After the byte that counts its bytes."""
    return (await reader.readexactly((await reader.readexactly(1))[0])).decode()


async def is_known(proxy, reader, writer):
    await reader.readexactly(1)
    known = [await read_text(reader) for _ in range(2)] == ["ada", proxy.password]
    writer.write(b"\x01\x00" if known else b"\x01\x01")
    if not known:
        writer.close()
    return known


async def read_host(kind, reader):
    if kind == 3:
        return await read_text(reader)
    return str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))


PROXIES = {"http": proxies.connect_proxy, "socks5": socks_proxy}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return proxies.make_authority(Path(tmp_path_factory.mktemp("authority")), HOST)


async def nobody_knows(host, port):
    """As behind a company's proxy, where the names of the world are not known."""
    raise http.UnknownHost


async def at_home(host, port):
    return await http.look_up("127.0.0.1", port)


def through(proxy, scheme, password=""):
    return http.Proxy(scheme, "127.0.0.1", proxy.port, "ada" if password else "", password)


async def get(url, resolve=nobody_knows, **more):
    async with http.Client(resolve, **more) as client:
        return await client.get(url, {})


@table(*product(PROXIES, ["", "p@ss word"]))
async def test_a_call_goes_through_the_proxy_to_a_name_only_it_knows(authority, scheme, password):
    async with PROXIES[scheme](password) as proxy, proxies.tls_server(authority) as port:
        way = http.Way(through(proxy, scheme, password), authority.pem)
        answer = await get(f"https://{HOST}:{port}/v1/models", way=way)
    assert (answer.status, answer.body) == (200, b"/v1/models")
    assert proxy.asked == [f"{HOST}:{port}"]


@table(*PROXIES)
async def test_the_certificate_is_checked_behind_a_proxy_as_well(authority, scheme):
    async with PROXIES[scheme]() as proxy, proxies.tls_server(authority) as port:
        with pytest.raises(http.BadCertificate):
            await get(f"https://{HOST}:{port}/", way=http.Way(through(proxy, scheme)))
        way = http.Way(through(proxy, scheme), authority.pem)
        with pytest.raises(http.BadCertificate):
            await get(f"https://other.example:{port}/", way=way)


async def test_an_authority_of_ones_own_is_believed_without_a_proxy(authority):
    async with proxies.tls_server(authority) as port:
        url, way = f"https://{HOST}:{port}/x", http.Way(ca_bundle=authority.pem)
        assert (await get(url, at_home, way=way)).body == b"/x"
        with pytest.raises(http.BadCertificate):  # and by no other client
            await get(url, at_home)


@table(
    row("http", {"password": "right"}, "another user name or password", id="a wrong password"),
    row("http", {"refuses": 403}, r"did not let the call through \(403\)", id="not this host"),
    row("socks5", {"password": "right"}, "did not let the call through", id="a SOCKS proxy"),
)
async def test_a_proxy_that_refuses_or_is_not_there_is_told_in_our_words(scheme, options, told):
    async with PROXIES[scheme](**options) as proxy:
        way = http.Way(through(proxy, scheme, "wrong" if "password" in options else ""))
        with pytest.raises(http.Unreachable, match=told):
            await get(f"https://{HOST}/", way=way)
    assert proxy.asked == []
    with pytest.raises(http.Unreachable, match="The proxy"):
        await get(f"https://{HOST}/", way=way)


@table(*product(PROXIES, ["169.254.169.254", "10.0.0.7", "inside.example"]))
async def test_a_private_address_is_not_reached_through_a_proxy(scheme, host):
    """Also by a name that leads to one, as far as it is known here."""

    async def inside(name: str, port: int) -> list[http.Address]:
        return await http.look_up("10.0.0.7" if name == "inside.example" else name, port)

    async with PROXIES[scheme]() as proxy:
        guard = GuardedResolver(AddressPolicy(), inside)
        with pytest.raises(ForbiddenAddress):
            await get(f"https://{host}/latest", guard, way=http.Way(through(proxy, scheme)))
    assert proxy.asked == []


@table(*PROXIES)
async def test_a_proxy_that_is_told_no_names_is_given_what_was_looked_up_here(authority, scheme):
    """The certificate is still that of the name. What is not known here is called nowhere."""
    async with PROXIES[scheme]() as proxy, proxies.tls_server(authority) as port:
        way = http.Way(through(proxy, scheme), authority.pem, tells_names=False)
        assert (await get(f"https://{HOST}:{port}/x", at_home, way=way)).body == b"/x"
        with pytest.raises(http.UnknownHost):
            await get(f"https://{HOST}:{port}/x", way=way)
    assert proxy.asked == [f"127.0.0.1:{port}"]


async def test_the_second_address_is_tried_where_the_proxy_does_not_reach_the_first(authority):
    async def has_two(host: str, port: int) -> list[http.Address]:
        return [*await http.look_up("127.0.0.2", port), *await http.look_up("127.0.0.1", port)]

    async with proxies.connect_proxy(refuses=502) as proxy, proxies.tls_server(authority) as port:
        proxy.refused = "127.0.0.2"
        way = http.Way(through(proxy, "http"), authority.pem, tells_names=False)
        assert (await get(f"https://{HOST}:{port}/x", has_two, way=way)).body == b"/x"
    assert proxy.asked == [f"127.0.0.1:{port}"]


@table(
    (http.Way(PROXY), "http://provider.example/", True),
    (http.Way(PROXY, is_for_http=False), "https://provider.example/", True),
    (http.Way(PROXY, is_for_http=False), "http://provider.example/", False),
    (http.Way(PROXY, left_out=("inside.example",)), "https://models.inside.example/", False),
    (http.Way(), "https://provider.example/", False),
)
def test_which_addresses_are_called_through_the_proxy(way, url, is_through):
    place = read_url(url).place
    assert (way.proxy_to(place.host, is_secure=place.is_secure) == PROXY) is is_through


async def test_the_proxy_itself_is_reached_only_where_that_is_allowed():
    async with proxies.connect_proxy() as proxy:
        way = http.Way(through(proxy, "http"))
        with pytest.raises(ForbiddenAddress, match=str(proxy.port)):
            await get(f"https://{HOST}/", way=way, resolve_proxy=GuardedResolver(AddressPolicy()))
    assert proxy.asked == []


@table(
    ("http://proxy.example:3128", "http://proxy.example:3128"),
    ("http://ada:p%40ss@proxy.example:3128/", "http://ada:…@proxy.example:3128"),
    ("socks5h://[::1]:1080", "socks5h://[::1]:1080"),
)
def test_a_proxy_is_shown_without_its_password(text, shown):
    assert http.read_proxy(text).shown == shown
    assert http.read_proxy(http.read_proxy(text).shown).address == http.read_proxy(text).address


@table(
    "proxy.example:3128",
    "https://proxy.example:3128",
    "http://proxy.example",
    "http://:3128",
    "http://proxy.example:99999",
    "http://proxy.example:3128/path",
    "http://a%0d%0ab:c@proxy.example:3128",
    "ftp://proxy.example:21",
    "",
)
def test_what_is_no_proxy_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"Write it as http://proxy\.example:3128"):
        http.read_proxy(text)
    assert http.proxy_addresses(text) == []
