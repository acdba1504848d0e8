"""Who is asking, by address: the connection's, or the one that a trusted proxy vouches for."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import NamedTuple

Address = IPv4Address | IPv6Address
MOST_PROXIES = 10
HOME_PREFIX = 64  # bits: a provider gives every customer that many IPv6 addresses at least


class TrustedProxies(NamedTuple):
    """Either so many proxies stand in front of the site, or those of these networks do."""

    hops: int = 0
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def has(self, address: Address) -> bool:
        return any(address in network for network in self.networks)


def parse_proxies(parts: tuple[str, ...]) -> TrustedProxies:
    """`1`, or networks. ValueError if it is neither."""
    if len(parts) == 1 and parts[0].isdecimal():
        hops = int(parts[0])
        if hops > MOST_PROXIES:
            raise ValueError(parts[0])
        return TrustedProxies(hops=hops)
    return TrustedProxies(networks=tuple(ip_network(part) for part in parts))


def client_address(peer: str, forwarded_for: str, trusted: TrustedProxies) -> str:
    """The address of the client. A client may write anything into X-Forwarded-For, but every proxy
    adds the address it was called from at the right: only what trusted proxies added is read."""
    found = parse_address(peer)
    if found is None:
        return peer
    return str(_behind(found, forwarded_for.split(",")[::-1], trusted))


def _behind(peer: Address, newest_first: list[str], trusted: TrustedProxies) -> Address:
    """One step for each trusted proxy, until one was called from an address it could not tell."""
    for passed, text in enumerate(newest_first):
        is_proxy = trusted.has(peer) if trusted.networks else passed < trusted.hops
        caller = parse_address(text) if is_proxy else None
        if caller is None:
            break
        peer = caller
    return peer


def parse_address(text: str) -> Address | None:
    """Also with a port, as some proxies write it; None if it is none."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])  # without the zone of a link-local address
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found


def neighbourhood(address: str) -> str:
    """What counts as one client: an IPv4 address, or the whole network of an IPv6 one."""
    found = parse_address(address)
    if isinstance(found, IPv6Address):
        return str(ip_network((found, HOME_PREFIX), strict=False))
    return str(found or "")
