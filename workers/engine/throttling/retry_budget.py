"""Keeps retries a small share of all calls, so that a failing provider is not hit harder."""

SHARE = 0.15  # of the calls that went well
RESERVE = 10.0  # retries that may be made before anything went well


class RetryBudget:
    """One per endpoint and process. A retry that is not covered waits until calls go well."""

    def __init__(self) -> None:
        self._balance = RESERVE

    def deposit(self) -> None:
        self._balance = min(self._balance + SHARE, 10 * RESERVE)

    def withdraw(self) -> bool:
        """Pay for a retry. False when there is nothing left for it."""
        if self._balance < 1.0:
            return False
        self._balance -= 1.0
        return True
