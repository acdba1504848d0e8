"""No form can make our servers call what only they can reach. Nothing here leaves this machine."""

import asyncio
import socket

import pytest

from runs.apps import warn_of_unsafe_settings
from runs.models import DIRECT, Endpoint, EndpointKind
from runs.outbound import base_url_of, check_endpoint, policy_for, webhook_policy, webhook_route
from runs.selectors.endpoints.manner import route_of
from workers.engine.errors import ForbiddenAddress
from workers.engine.http import Client
from workers.engine.providers.addresses import AddressPolicy, check_url
from workers.engine.providers.resolver import GuardedResolver

FORBIDDEN = r"""
    http://127.0.0.1/v1 http://127.0.0.1:8000/v1 https://127.255.255.254/v1 http://0.0.0.0/v1
    http://localhost/v1 http://LOCALHOST./v1 http://api.localhost:8080/v1 http://10.0.0.5/v1
    http://172.16.0.1/v1 http://192.168.1.1/v1 http://100.64.0.1/v1
    http://169.254.169.254/latest/meta-data http://168.63.129.16/machine
    http://100.100.100.200/latest http://192.0.0.192/opc http://198.18.0.1/v1 http://192.0.2.1/v1
    http://224.0.0.1/v1 http://255.255.255.255/v1
    http://[::1]/v1 http://[::]/v1 http://[::ffff:127.0.0.1]/v1 http://[::ffff:7f00:1]/v1
    http://[::127.0.0.1]/v1 http://[fe80::1]/v1 http://[fe80::1%25eth0]/v1
    http://[2001:4860:4860::8888%25eth0]/v1 http://[fc00::1]/v1 http://[fd00:ec2::254]/latest
    http://[64:ff9b::7f00:1]/v1 http://[64:ff9b:1::a00:1]/v1 http://[2002:7f00:1::]/v1
    http://[2001:0:4136:e378::]/v1 http://[2001:db8::1]/v1 http://[ff02::1]/v1
    http://[::ffff:0:127.0.0.1]/v1
    http://2130706433/v1 http://0x7f000001/v1 http://0x7f.1/v1 http://127.1/v1 http://0177.0.0.1/v1
    http://127.0.0.1./v1 http://１２７.０.０.１/v1 http://①②⑦.⓪.⓪.①/v1 http://127。0。0。1/v1
    http://127%2e0%2e0%2e1/v1
    http://user:password@provider.example/v1 http://@provider.example/v1
    http://provider.example@127.0.0.1/v1 http://127.0.0.1\@provider.example/v1
    http://provider.example:22/v1 http://provider.example:25/v1 http://provider.example:0/v1
    http://provider.example:99999/v1 http://provider.example:port/v1
    http:///v1 http:// provider.example/v1 //provider.example/v1 file:///etc/passwd
    gopher://provider.example/v1 ftp://provider.example/v1 unix:///run/redis.sock
    javascript:alert(1)
"""
FORBIDDEN_URLS = [
    *FORBIDDEN.split(),
    *("", "http://provider.example\t/v1", "http://provider.example /v1"),
    "http://provider.example/v1\r\nX-Key: 1",
]
PUBLIC = """
    https://provider.example/v1 http://provider.example:8080/v1 https://PROVIDER.example./v1
    https://8.8.8.8/v1 https://[2001:4860:4860::8888]:8443/v1 https://münchen.example/v1
    https://gateway_1.example/v1
"""


def is_open(url, policy):
    try:
        check_url(url, policy)
    except ForbiddenAddress:
        return False
    return True


def test_a_forbidden_url_is_refused_before_any_look_up():
    """And a public one is accepted."""
    assert [url for url in FORBIDDEN_URLS if is_open(url, AddressPolicy())] == []
    paths = {url: check_url(url, AddressPolicy()).raw_path for url in PUBLIC.split()}
    assert paths == dict.fromkeys(PUBLIC.split(), "/v1")


def test_the_operator_can_open_a_private_place_and_is_told_how_without_the_address():
    policy = AddressPolicy(frozenset({"127.0.0.1:9000", "Models.LAN:9000", "[::1]:9000"}))
    urls = ("http://127.0.0.1:9000", "http://models.lan:9000", "http://[::1]:9000")
    assert [is_open(url, policy) for url in urls] == [True] * 3
    policy.check("models.lan", 9000, ["192.168.1.7", "fd12::7"])
    assert not is_open("http://127.0.0.1:9001", policy)
    with pytest.raises(ForbiddenAddress):
        policy.check("models.lan", 9001, ["192.168.1.7"])
    for addresses in (["8.8.8.8", "127.0.0.1"], ["127.0.0.1", "8.8.8.8"], [], ["not an address"]):
        with pytest.raises(ForbiddenAddress):
            AddressPolicy().check("provider.example", 443, addresses)
    with pytest.raises(ForbiddenAddress) as error:
        policy_for(endpoint()).check("models.lan", 8000, ["10.1.2.3"])
    assert str(error.value) == (
        "models.lan:8000 is at a private address (private network). An admin can allow it for this "
        "endpoint under Private addresses (private_addresses)."
    )
    assert "10.1.2.3" not in str(error.value)


def test_not_even_the_operator_can_open_metadata_or_link_local_addresses():
    clouds = ("169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe")
    for address in (*clouds, "0.0.0.0", "fe80::1"):
        with pytest.raises(ForbiddenAddress, match="never called"):
            AddressPolicy(frozenset({"models.lan:80"})).check("models.lan", 80, [address])


class Answers:
    """A name server of our own: gives the next of its answers at every look-up."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def __call__(self, host, port):
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port))
            for address in self.answers.pop(0)
        ]


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def connections(server):
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


async def test_a_name_that_changes_to_loopback_is_not_connected(listener):
    """Nor is one that has a forbidden address among others."""
    resolver = GuardedResolver(AddressPolicy(), Answers(["8.8.8.8"], ["127.0.0.1"]))
    await resolver("rebinding.example", 8000)
    with pytest.raises(ForbiddenAddress):
        await resolver("rebinding.example", 8000)
    port = listener.getsockname()[1]
    resolver = GuardedResolver(AddressPolicy(), Answers(["8.8.8.8", "127.0.0.1"]))
    async with Client(resolver) as client:
        with pytest.raises(ForbiddenAddress):
            await client.get(f"http://mixed.example:{port}/", {})
    assert connections(listener) == 0


async def test_the_client_connects_to_the_address_that_was_checked(listener):
    port = listener.getsockname()[1]
    policy = AddressPolicy(frozenset({f"pinned.example:{port}"}))
    # One answer only: a second look-up, after the check, would fail.
    async with Client(GuardedResolver(policy, Answers(["127.0.0.1"]))) as client:
        call = asyncio.create_task(client.get(f"http://pinned.example:{port}/", {}))
        while not (found := connections(listener)) and not call.done():  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # it lets the call go on; what ends the loop is the call
        call.cancel()
    assert found + connections(listener) == 1


def endpoint(kind=EndpointKind.OPENAI, base_url="", **fields):
    return Endpoint(name="it", kind=kind, base_url=base_url, **fields)


def test_settings_open_private_places_and_the_simulated_provider_needs_none(settings):
    settings.SIMULATOR_URL = "http://127.0.0.1:8765"
    settings.ALLOWED_PRIVATE_ENDPOINTS = ("127.0.0.1:9000",)
    assert policy_for(endpoint()).allowed == {"127.0.0.1:9000"}
    simulated = endpoint(EndpointKind.SIMULATED)
    assert policy_for(simulated).allowed == {"127.0.0.1:9000", "127.0.0.1:8765"}
    assert webhook_policy().allowed == frozenset()
    assert check_endpoint(endpoint(base_url="http://127.0.0.1:9000/v1/"))
    assert base_url_of(simulated) == check_endpoint(simulated) == "http://127.0.0.1:8765/v1"
    with pytest.raises(ForbiddenAddress):
        check_endpoint(endpoint(EndpointKind.OPENAI, "http://127.0.0.1:8765/v1"))
    with pytest.raises(ForbiddenAddress):
        check_endpoint(endpoint(EndpointKind.SIMULATED, "http://127.0.0.1:8766/v1"))


def test_an_unsafe_switch_is_told_at_every_start(settings, caplog):
    warn_of_unsafe_settings()
    assert caplog.messages == []
    settings.UNSAFE_WEBHOOK_ADDRESSES = ("127.0.0.1:9000",)
    warn_of_unsafe_settings()
    (told,) = caplog.messages
    assert told.startswith("UNSAFE: EVALSITE_UNSAFE_WEBHOOK_ADDRESSES")
    assert "127.0.0.1:9000" in told
    settings.UNSAFE_PROXY_LOOKS_UP = True
    warn_of_unsafe_settings()
    assert caplog.messages[-1].startswith("UNSAFE: EVALSITE_UNSAFE_PROXY_LOOKS_UP")


def test_a_proxy_looks_no_name_up_but_by_an_unsafe_switch_and_never_one_of_a_webhook(settings):
    """What it does with an address: engine/test_tunnels.py."""
    settings.HTTPS_PROXY = "http://proxy.example:3128"
    ways = [route_of(endpoint(proxy_shown=shown)).way for shown in ("", DIRECT)]
    assert not any(way.tells_names for way in (*ways, webhook_route().way))
    settings.UNSAFE_PROXY_LOOKS_UP = True
    ways = [route_of(endpoint(proxy_shown=shown)).way for shown in ("", DIRECT)]
    assert [way.tells_names for way in (*ways, webhook_route().way)] == [True, True, False]


def test_a_base_url_is_complete_and_carries_no_key():
    with pytest.raises(ForbiddenAddress, match="needs a base URL"):
        check_endpoint(endpoint())
    for ending in ("?key=sk-1", "?", "#part"):
        with pytest.raises(ForbiddenAddress, match="ends before any"):
            check_endpoint(endpoint(base_url=f"https://provider.example/v1{ending}"))
