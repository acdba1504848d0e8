"""Gives every next case to the candidate that may still be the best, until the budget is spent."""

import math
from collections import Counter

from pydantic import Field

from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds

ROUND = 10  # evaluations decided on at once


class MatrixUcbOptions(Options):
    share: float = Field(
        default=0.3,
        gt=0,
        le=1,
        title="Share of evaluations",
        description="From 0 to 1: 0.3 makes 30 % of the evaluations that trying everything takes.",
    )
    exploration: float = Field(
        default=1.0,
        gt=0,
        title="Exploration",
        description="Greater: more evaluations for combinations that few cases were seen of. "
        "Smaller: more for those that lead.",
    )


class MatrixUcb(Rounds[MatrixUcbOptions]):
    """For a number of evaluations that is fixed beforehand: it gets the most out of them, and finds
    the best nearly always from 30 % of the cells on. The bound of an arm is mean +
    sqrt(exploration / n). A round is spread over arms: each evaluation that it gives an arm counts
    as seen when it gives the next."""

    label = "Matrix UCB"
    summary = (
        "Better if the number of evaluations is fixed beforehand: gives each to the "
        "combination that may still be the best."
    )
    options_type = MatrixUcbOptions

    def next_pulls(self) -> list[Pull]:
        cells = math.ceil(self.options.share * len(self.alive) * self.cases)
        given = Counter({arm: self.board.count(arm) for arm in self.alive})
        left = cells - given.total()
        if left <= 0:
            return []
        fresh: Counter[int] = Counter()
        for _ in range(min(self.options.batch or ROUND, left)):
            arm = max(self.alive, key=lambda arm: self._bound(arm, given[arm]))
            given[arm] += 1
            fresh[arm] += 1
        return [Pull(arm, cases) for arm, cases in sorted(fresh.items())]

    def _bound(self, arm: int, seen: int) -> float:
        if seen == 0:
            return math.inf
        if seen >= self.cases:
            return -math.inf
        return self.board.mean(arm) + math.sqrt(self.options.exploration / seen)
