"""Keeps retries a small share of all calls, so that a failing provider is not hit harder."""

from collections import defaultdict
from typing import Protocol

SHARE = 0.15  # of the calls that went well
RESERVE = 10.0  # retries that may be made before anything went well
MOST = 10 * RESERVE  # that are saved up


class RetryBudgets(Protocol):
    """One budget per endpoint. A retry that is not covered waits until calls go well."""

    def deposit(self, endpoint: str) -> None:
        """A call went well."""
        ...

    async def withdraw(self, endpoint: str) -> bool:
        """Pay for a retry. False when there is nothing left for it."""
        ...


class LocalRetryBudgets:
    """Of one process."""

    def __init__(self, reserve: float = RESERVE) -> None:
        self._balances: dict[str, float] = defaultdict(lambda: reserve)

    def deposit(self, endpoint: str, calls: int = 1) -> None:
        self._balances[endpoint] = min(self._balances[endpoint] + SHARE * calls, MOST)

    async def withdraw(self, endpoint: str) -> bool:
        if self._balances[endpoint] < 1.0:
            return False
        self._balances[endpoint] -= 1.0
        return True
