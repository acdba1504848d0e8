"""Stands in for a strategy that is not installed any more, so that its runs can be looked at."""

from collections.abc import Sequence

from workers.engine.records import Candidate, Score
from workers.engine.strategies.board import Board
from workers.engine.strategies.options import Objective, Options
from workers.engine.strategies.rounds import Pull, Rounds


class Bystander(Rounds[Options]):
    """Asks for nothing and gives nobody up. Its winner is the one that was stored, if any."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        cases: int,
        repeats: int,
        objective: Objective,
        chosen: int | None,
    ) -> None:
        super().__init__(candidates, cases, repeats, 0, Options(), objective)
        self._objective = objective
        self._chosen = chosen

    @property
    def best(self) -> int | None:
        return super().best if self._chosen is None else self._chosen

    def next_pulls(self) -> list[Pull]:
        return []

    def watch(self, scores: Sequence[Score]) -> None:
        """All that there are, however often it is called."""
        self.board = Board(len(self.candidates), self._objective, self.options.failures)
        self.tell(scores)
        self.board.settle()
