"""Every candidate on every case, every repeat."""

from collections.abc import Sequence

from workers.engine.records import Candidate, Score, Trial


class Grid:
    """Goes case by case, so that at any moment all candidates have seen about the same cases
    and a half-filled leaderboard already compares like with like. With `by_candidate` it goes
    candidate by candidate instead; a trial's position is the same either way."""

    learns = listens = False
    hears: frozenset[str] = frozenset()
    best: int | None = None  # it tries all alike, and leaves the choice to people

    def __init__(
        self,
        candidates: Sequence[Candidate],
        cases: int,
        repeats: int,
        seed: int,
        *,
        by_candidate: bool = False,
    ) -> None:
        self.candidates = candidates
        self.planned = len(candidates) * cases * repeats
        self._keys = [candidate.key for candidate in candidates]
        self._cases = cases
        self._by_candidate = by_candidate
        self._next = 0

    def ask(self, limit: int) -> list[Trial]:
        stop = min(self._next + limit, self.planned)
        trials = [self._trial(self._position(place)) for place in range(self._next, stop)]
        self._next = stop
        return trials

    def tell(self, scores: Sequence[Score]) -> None:
        pass  # nothing to learn

    def _position(self, place: int) -> int:
        """The position of the trial that is asked in this place."""
        if not self._by_candidate:
            return place
        column, row = divmod(place, self.planned // len(self._keys))
        return row * len(self._keys) + column

    def _trial(self, position: int) -> Trial:
        row, column = divmod(position, len(self._keys))
        repeat, case = divmod(row, self._cases)
        return Trial(position, self._keys[column], case, repeat)
