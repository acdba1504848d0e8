"""Looks up host names for the HTTP client and refuses those that lead to forbidden addresses.

The client connects to the addresses this returns, so a name that changes its address between
check and call gains nothing.
"""

from workers.engine.http import Address, Resolver, look_up
from workers.engine.providers.addresses import AddressPolicy


class GuardedResolver:
    def __init__(self, policy: AddressPolicy, inner: Resolver = look_up) -> None:
        self._policy = policy
        self._inner = inner

    async def __call__(self, host: str, port: int) -> list[Address]:
        found = await self._inner(host, port)
        self._policy.check(host, port, [place[0] for *_, place in found])
        return found
