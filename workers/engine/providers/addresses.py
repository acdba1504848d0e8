"""Where calls may go: a policy over addresses, decided before anything is connected.

The address of an endpoint is typed into a form. Without this, a form could make our servers
call whatever only they can reach: neighbours, databases, a cloud's credential service.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from yarl import URL

from workers.engine.errors import ForbiddenAddress, PrivateAddress

SCHEMES = ("http", "https")
LOW_PORTS = (80, 443)  # every other port under 1024 belongs to another protocol: mail, shells, …
HOST_NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?", re.ASCII)
ENDS_IN_A_NUMBER = re.compile(r"(^|\.)(0x[0-9a-f]*|[0-9]+)\.?$")
UNSAFE_CHARACTERS = re.compile(r"[\x00-\x20\x7f\\]")

# Where a cloud hands out the credentials of its machines, whatever addresses the names have.
METADATA_NAMES = frozenset(
    {
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
        "instance-data",
        "instance-data.ec2.internal",
    }
)
PRIVATE_ENDINGS = (
    ".internal",
    ".lan",
    ".local",
    ".localdomain",
    ".home",
    ".home.arpa",
    ".intranet",
)

# Reached only when somebody who may do so allowed this host and port.
IF_ALLOWED = {
    "loopback": ("127.0.0.0/8", "::1/128"),
    "private network": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    "carrier-grade NAT": ("100.64.0.0/10",),
}
# Never reached: no model lives there, and some hand out credentials or lead elsewhere.
NEVER = {
    "unspecified": ("0.0.0.0/8", "::/128"),
    "link-local": ("169.254.0.0/16", "fe80::/10", "fec0::/10"),
    "cloud metadata": (
        "168.63.129.16/32",
        "100.100.100.200/32",
        "192.0.0.192/32",
        "fd00:ec2::/32",
        "fd20:ce::254/128",
        "fd00:c1::a9fe:a9fe/128",
    ),
    "multicast": ("224.0.0.0/4", "ff00::/8"),
    "translated (NAT64)": ("64:ff9b::/96", "64:ff9b:1::/48"),
    "tunnelled (6to4, Teredo)": ("2002::/16", "2001::/32", "192.88.99.0/24"),
    "embedded IPv4": ("::/96", "::ffff:0:0:0/96"),
    "reserved": (
        "192.0.0.0/24",
        "192.0.2.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "240.0.0.0/4",
        "100::/64",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
    ),
}


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """`allowed` holds `host:port` of the private places that the host's operator opened, `ticked`
    those that an admin did, which opens no other protocol's port. `advice` tells how another one
    comes among them, with `{place}` where it is named."""

    allowed: frozenset[str] = frozenset()
    ticked: frozenset[str] = frozenset()
    advice: str = ""

    def __post_init__(self) -> None:
        for name in ("allowed", "ticked"):
            normal = frozenset(entry.strip().lower() for entry in getattr(self, name))
            object.__setattr__(self, name, normal)

    def check(self, host: str, port: int, addresses: Iterable[str]) -> None:
        """Refuse the host unless every one of its addresses may be called."""
        self.check_port(host, port)
        check_name(host)
        place = place_of(host, port)
        found = list(addresses)
        if not found:
            raise ForbiddenAddress(f"{place} has no address.")
        for address in found:
            kind = _private_kind(place, address)
            if kind is not None:
                self.check_private(place, kind)

    def check_private(self, place: str, kind: str) -> None:
        if place not in self.allowed | self.ticked:
            raise PrivateAddress(place, kind, self.advice.replace("{place}", place))

    def check_port(self, host: str, port: int) -> None:
        place = place_of(host, port)
        if port < 1024 and port not in LOW_PORTS and place not in self.allowed:
            raise ForbiddenAddress(
                f"Port {port} of {place} belongs to another protocol. Use 80, 443, or a port from "
                "1024 up."
            )


def check_url(url: str, policy: AddressPolicy) -> URL:
    """Refuse a URL that may not be called, as far as can be told without looking up its name.

    Literal addresses never reach a resolver, so they are checked here; names are checked by the
    resolver as well. What comes back is what was checked: call that, not the text.
    """
    parsed = _parse(url)
    host, port = parsed.raw_host or "", parsed.port or 0
    address = _literal_address(host)
    if address is not None:
        policy.check(host, port, [address])
    elif host.rstrip(".") == "localhost" or host.rstrip(".").endswith(".localhost"):
        policy.check(host, port, ["127.0.0.1"])
    elif not HOST_NAME.fullmatch(host) or ENDS_IN_A_NUMBER.search(host):
        raise ForbiddenAddress(
            f"{host!r} is neither a host name nor an address. Write an IPv4 address as four "
            "decimal numbers, an IPv6 address in brackets."
        )
    policy.check_port(host, port)
    check_name(host)
    if address is None and is_private_name(host):
        policy.check_private(place_of(host, port), "a name within a network")
    return parsed


def check_name(host: str) -> None:
    """Refuse the names under which clouds hand out credentials."""
    if plain_name(host) in METADATA_NAMES:
        raise ForbiddenAddress(f"{plain_name(host)} is a cloud metadata service: never called.")


def is_private_name(host: str) -> bool:
    """Whether no public name server knows it: better told when it is entered than when called."""
    name = plain_name(host)
    return "." not in name or name.endswith(PRIVATE_ENDINGS)


def plain_name(host: str) -> str:
    return host.lower().strip("[]").rstrip(".")


def place_of(host: str, port: int) -> str:
    """`host:port` as the allow list writes it: lower case, IPv6 in brackets."""
    name = plain_name(host)
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _parse(url: str) -> URL:
    if UNSAFE_CHARACTERS.search(url):
        raise ForbiddenAddress("The URL contains spaces, control characters or a backslash.")
    try:
        # yarl, because the client reads with it: two parsers could disagree about the host.
        parsed, authority = URL(url), urlsplit(url).netloc
    except ValueError as error:
        raise ForbiddenAddress(f"Not a URL: {error}.") from None
    if parsed.scheme not in SCHEMES:
        raise ForbiddenAddress("The URL must start with http:// or https://.")
    if "@" in authority:
        raise ForbiddenAddress("The URL contains a user name. Put the key into the key field.")
    if not parsed.raw_host or not parsed.port:
        raise ForbiddenAddress("The URL names no host, or port 0.")
    return parsed


def _literal_address(host: str) -> str | None:
    try:
        return str(ip_address(host))
    except ValueError:
        return None


def _private_kind(place: str, text: str) -> str | None:
    """None for a public address; ForbiddenAddress for one that is never called."""
    # The message names the place, not the address: a name's private address is nobody's business.
    try:
        address = ip_address(text)
    except ValueError:
        raise ForbiddenAddress(f"{place} has an address that cannot be read.") from None
    kind = kind_of(address)
    if kind in NEVER:
        raise ForbiddenAddress(f"{place} is at a {kind} address, which is never called.")
    return kind


def kind_of(address: IPv4Address | IPv6Address) -> str | None:
    """What kind of special address it is, None for a public one. The narrowest network decides."""
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return "link-local"
        address = address.ipv4_mapped or address
    matches = [entry for entry in SPECIAL if address in entry[0]]
    return max(matches, key=lambda entry: entry[0].prefixlen)[1] if matches else None


SPECIAL = [
    (ip_network(network), kind)
    for kinds in (IF_ALLOWED, NEVER)
    for kind, networks in kinds.items()
    for network in networks
]
