"""Every candidate on every case, every repeat."""

from collections.abc import Sequence

from workers.engine.records import Candidate, Score, Trial


class Grid:
    """Goes case by case, so that at any moment all candidates have seen about the same cases
    and a half-filled leaderboard already compares like with like."""

    listens = False

    def __init__(
        self, candidates: Sequence[Candidate], cases: int, repeats: int, seed: int
    ) -> None:
        self.planned = len(candidates) * cases * repeats
        self._keys = [candidate.key for candidate in candidates]
        self._cases = cases
        self._next = 0

    def ask(self, limit: int) -> list[Trial]:
        stop = min(self._next + limit, self.planned)
        trials = [self._trial(position) for position in range(self._next, stop)]
        self._next = stop
        return trials

    def tell(self, scores: Sequence[Score]) -> None:
        pass  # nothing to learn

    def _trial(self, position: int) -> Trial:
        row, column = divmod(position, len(self._keys))
        repeat, case = divmod(row, self._cases)
        return Trial(position, self._keys[column], case, repeat)
