"""Looks up host names for the HTTP client and refuses those that lead to forbidden addresses.

The client connects to the addresses this returns, so a name that changes its address between
check and call gains nothing.
"""

import socket

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from workers.engine.providers.addresses import AddressPolicy


class GuardedResolver(AbstractResolver):
    def __init__(self, policy: AddressPolicy, inner: AbstractResolver | None = None) -> None:
        """Must be made inside a running event loop, like every aiohttp resolver."""
        self._policy = policy
        self._inner = inner or ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        results = await self._inner.resolve(host, port, family)
        self._policy.check(host, port, [result["host"] for result in results])
        return results

    async def close(self) -> None:
        await self._inner.close()
