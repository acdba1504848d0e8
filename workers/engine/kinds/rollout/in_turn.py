"""One mission after the other: the next one is planned when all of this one has ended."""

from collections.abc import Sequence

from workers.engine.records import Candidate, Trial
from workers.engine.strategies import Grid


class InTurn(Grid):
    """So it holds over all workers, without a lock that they would share: no trial of the next
    mission exists before the last one of this mission was told. Cases are in the order of the
    missions."""

    learns = True  # not from scores: it must be told that they are there

    def __init__(
        self, candidates: Sequence[Candidate], cases: int, episodes: int, seed: int
    ) -> None:
        super().__init__(candidates, cases, 1, seed)
        self._each = max(1, episodes * len(candidates))  # trials of a mission

    @property
    def listens(self) -> bool:  # type: ignore[override]
        """Whether a whole mission was asked for, so that its scores are waited for."""
        return self._next % self._each == 0

    def ask(self, limit: int) -> list[Trial]:
        return super().ask(min(limit, self._each - self._next % self._each))
