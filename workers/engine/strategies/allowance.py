"""What arm elimination would have spent by now: the price that paired elimination is held to."""

from itertools import islice

from workers.engine.strategies.arm_elimination import FIRST_SHARE, ArmEliminationOptions
from workers.engine.strategies.board import Board
from workers.engine.strategies.intervals import Interval, interval_of

AS_PUBLISHED = ArmEliminationOptions()


class Allowance:
    """Arm elimination, played on what another strategy has seen anyway: its looks, its intervals.

    As published, it leaves failures out of its means. An arm that the other strategy gave up
    meanwhile is judged by what it had seen.
    """

    def __init__(self, board: Board, arms: int, cases: int) -> None:
        self._board, self._cases = board, cases
        self._alive = list(range(arms))
        self._size = max(1, cases // FIRST_SHARE)
        self._looked, self._next = 0, min(cases, self._size)
        self._spent = 0

    def at(self, seen: int) -> int | None:
        """When every survivor has seen so many cases. None before the first look: until then
        nobody has saved anything."""
        while seen >= self._next and len(self._alive) > 1 and self._looked < self._cases:
            self._look()
        if not self._looked:
            return None
        going_on = len(self._alive) if len(self._alive) > 1 else 0
        return self._spent + going_on * (seen - self._looked)

    def _look(self) -> None:
        self._spent += len(self._alive) * (self._next - self._looked)
        found = {arm: self._interval(arm) for arm in self._alive}
        bar = max(interval.low for interval in found.values())
        self._alive = [arm for arm, interval in found.items() if interval.high >= bar]
        self._size = max(1, int(self._size * AS_PUBLISHED.growth))
        self._looked, self._next = self._next, min(self._cases, self._next + self._size)

    def _interval(self, arm: int) -> Interval:
        both = zip(self._board.samples[arm], self._board.worth(arm), strict=True)
        seen = islice(both, self._next)
        answers = [worth for sample, worth in seen if sample.value is not None]
        values = [worth for worth in answers if worth is not None]
        return interval_of(values, AS_PUBLISHED.confidence)
