"""Strategies: which trials to run next, given what became of the earlier ones.

To add one: write a file here with a class like Grid and add a line to STRATEGIES.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from workers.engine.records import Candidate, Score, Trial
from workers.engine.strategies.grid import Grid


class Strategy(Protocol):
    """A function of configuration, seed and ordered history. Never waits, never calls a model."""

    listens: bool
    """Whether later trials depend on earlier scores. If so, nothing is asked ahead."""

    @property
    def planned(self) -> int | None:
        """How many trials there will be, if that is known."""
        ...

    def ask(self, limit: int) -> list[Trial]:
        """The next trials, at most `limit`; the limit must not change their order."""
        ...

    def tell(self, scores: Sequence[Score]) -> None:
        """Learn from scores, given in the order of their trials."""
        ...


StrategyFactory = Callable[[Sequence[Candidate], int, int, int], Strategy]
"""(candidates, number of cases, repeats, seed) -> strategy"""

STRATEGIES: dict[str, Callable[..., Any]] = {
    "grid": Grid,
}
