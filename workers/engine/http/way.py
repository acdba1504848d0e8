"""How connections are made: directly or through a proxy, and whose certificates are believed."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

SCHEMES = {"http": "HTTP", "socks5": "SOCKS5", "socks5h": "SOCKS5", "socks4": "SOCKS4"}
HOW_WRITTEN = "Write it as http://proxy.example:3128 or socks5://user:password@proxy.example:1080."


class Proxy(NamedTuple):
    """An HTTP proxy (its CONNECT) or a SOCKS one, which looks names up itself."""

    scheme: str
    host: str
    port: int
    username: str = ""
    password: str = ""

    @property
    def address(self) -> str:
        """As the check of addresses reads one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def shown(self) -> str:
        """Without the password."""
        user = f"{self.username}:…@" if self.username else ""
        return f"{self.scheme}://{user}{self.address.removeprefix('http://')}"


class Way(NamedTuple):
    proxy: Proxy | None = None
    ca_bundle: str = ""  # certificates in PEM, believed besides those that the machine trusts
    left_out: tuple[str, ...] = ()  # hosts that are called without the proxy
    is_for_http: bool = True  # False: only https goes through the proxy
    tells_names: bool = True  # False: the proxy is given an address that was looked up here

    def proxy_to(self, host: str, *, is_secure: bool) -> Proxy | None:
        if is_left_out(host, self.left_out) or not (is_secure or self.is_for_http):
            return None
        return self.proxy


DIRECTLY = Way()


def is_left_out(host: str, names: Sequence[str]) -> bool:
    """As curl reads NO_PROXY: names with all below them, addresses, networks, or * for all."""
    if "*" in names:
        return True
    try:
        address = ip_address(host)
    except ValueError:
        wanted = [name.lower().strip().lstrip(".") for name in names]
        return any(host == name or host.endswith(f".{name}") for name in wanted if name)
    return any(address in network for name in names for network in networks_in(name))


def networks_in(name: str) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(name.strip(), strict=False)]
    except ValueError:  # a host's name
        return []


def read_proxy(url: str) -> Proxy:
    """ValueError says what is wrong with it."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise ValueError(f"This is no address of a proxy. {HOW_WRITTEN}") from None
    if parts.scheme not in SCHEMES:
        raise ValueError(f"A proxy speaks one of {', '.join(SCHEMES)}. {HOW_WRITTEN}")
    if not parts.hostname or not port or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError(f"A proxy needs a host and a port, and nothing behind them. {HOW_WRITTEN}")
    username, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not f"{username}{password}".isprintable() or ":" in username:
        raise ValueError(f"The user name or password cannot be sent. {HOW_WRITTEN}")
    return Proxy(parts.scheme, parts.hostname, port, username, password)


def proxy_addresses(text: str) -> list[str]:
    """The address of a proxy as somebody typed it; none if it is no proxy."""
    try:
        return [read_proxy(text).address]
    except ValueError:
        return []
