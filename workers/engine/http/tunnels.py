"""Connections through a proxy: HTTP's CONNECT and SOCKS, by the library python-socks."""

import socket
from collections.abc import Sequence

from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError, ProxyType
from python_socks.async_.asyncio import Proxy as Tunnel

from workers.engine.http.errors import Unreachable
from workers.engine.http.resolving import Resolver
from workers.engine.http.way import SCHEMES, Proxy

SILENT = "The proxy does not answer."
WANTS_PASSWORD = "The proxy wants another user name or password (407)."


async def open_tunnel(
    proxy: Proxy, hosts: Sequence[str], port: int, resolve: Resolver, seconds: float
) -> socket.socket:
    """A socket to the port at the first of the hosts that the proxy reaches. Unreachable tells why
    the last one was not reached."""
    problem = Unreachable(SILENT)
    for host in hosts:
        try:
            return await _open_tunnel(proxy, host, port, resolve, seconds)
        except Unreachable as error:
            problem = error
    raise problem


async def _open_tunnel(
    proxy: Proxy, host: str, port: int, resolve: Resolver, seconds: float
) -> socket.socket:
    """By the first address of the proxy that answers. They are looked up by `resolve`, which checks
    them; the library is given no name to look up."""
    for address in await resolve(proxy.host, proxy.port):
        tunnel = Tunnel(
            ProxyType[SCHEMES[proxy.scheme]],
            str(address[4][0]),
            proxy.port,
            proxy.username or None,
            proxy.password or None,
            rdns=True,
        )
        try:
            return await tunnel.connect(host, port, timeout=seconds)
        except (ProxyConnectionError, ProxyTimeoutError):
            continue
        except ProxyError as error:
            raise refusal(error) from None
    raise Unreachable(SILENT)


def refusal(error: ProxyError) -> Unreachable:
    """In our words: what the proxy says may hold anything."""
    if error.error_code == 407:
        return Unreachable(WANTS_PASSWORD)
    code = f" ({error.error_code})" if error.error_code else ""
    return Unreachable(f"The proxy did not let the call through{code}.")
