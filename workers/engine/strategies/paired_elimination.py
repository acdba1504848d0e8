"""Our own: candidates leave when, case by case, they cannot catch up with the leader any more."""

import math
from statistics import NormalDist
from typing import Any

from pydantic import Field

from workers.engine.strategies.allowance import Allowance
from workers.engine.strategies.board import SAME
from workers.engine.strategies.intervals import paired_variance
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds

ROUNDS = 200  # at most: a look after every half percent of the cases
FULL_ROUND = 20  # trials, at least: with fewer, calls would wait for each other
MANY = 4  # rivals; of fewer each case costs little, and those that are left are close
THRIFT = 0.9  # of what arm elimination would have spent: what it means to spend
HASTIEST, MOST_CAREFUL = 0.75, 1.3  # times the confidence: when that is overspent, or saved
NORMAL = NormalDist()


class PairedEliminationOptions(Options):
    confidence: float = Field(
        default=1.9,
        gt=0,
        le=10,
        title="Confidence, standard errors",
        description="How clear the difference must be before a combination is given up. Greater: "
        "safer, and more evaluations. It rises by itself when few cases or few combinations are "
        "left, and while fewer evaluations were needed than arm elimination would need.",
    )


class PairedElimination(Rounds[PairedEliminationOptions]):
    """The choice when evaluations are dear: it finds the best more often than arm elimination does,
    for fewer of them. It uses what the interval of each arm alone does not:

    All arms see the same cases, so the differences to the leader are tested, case by case; what is
    hard for everybody cancels out. The cases still to come are few and known in number: the
    uncertainty about the mean of all of them shrinks to nothing as they run out. The risk that is
    taken is in proportion to what it saves: less with fewer cases to come, and with few rivals.
    It knows what arm elimination would have spent by now: what was saved buys certainty, and what
    was overspent is saved by taking a greater risk. Who survives has seen what the others have, so
    the winner is chosen on equal data.
    """

    label = "Paired elimination"
    summary = (
        "Finds the best combination most often, and with few evaluations: it gives up a "
        "combination once it cannot catch up with the leader, compared case by case."
    )
    options_type = PairedEliminationOptions
    keeps_front = True

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._allowance = Allowance(self.board, len(self.candidates), self.cases)

    def next_pulls(self) -> list[Pull]:
        if len(self.alive) <= 1 < len(self.candidates):  # one from the start is measured
            return []
        step = max(1, self.cases // ROUNDS, -(-FULL_ROUND // len(self.alive)))
        return self.pulls(self.alive, self.options.batch or step)

    def learn(self) -> None:
        leader = self.board.leader(self.alive)
        if leader is None:
            return  # nobody has answered yet
        seen = self.board.count(leader)
        rest = 1 - seen / self.cases
        share = min(1.0, (len(self.alive) - 1) / MANY)
        risk = NORMAL.cdf(-self._confidence(seen)) * rest * share
        z = -NORMAL.inv_cdf(risk) if risk else 0.0
        reasons = {arm: self._why_not(arm, self._rival(arm, leader), z, rest) for arm in self.alive}
        self.eliminate({arm: why for arm, why in reasons.items() if why})

    def _rival(self, arm: int, leader: int) -> int:
        """Who the arm may be given up for: the leader, or the best of those that may replace it."""
        if self.board.may_replace(leader, arm):
            return leader
        rivals = [other for other in self.alive if self.board.may_replace(other, arm)]
        best = self.board.leader(rivals)
        return arm if best is None else best

    def _confidence(self, seen: int) -> float:
        """Greater the more was saved so far, smaller the more was overspent."""
        allowed = self._allowance.at(seen)
        if allowed is None or self.board.keeps_front:  # who keeps a whole front spends more
            return self.options.confidence
        thrift = (THRIFT * allowed / self._told) ** 2
        return self.options.confidence * min(MOST_CAREFUL, max(HASTIEST, thrift))

    def _why_not(self, arm: int, leader: int, z: float, rest: float) -> str:
        """Why the arm cannot be better than the leader on all cases; empty while it can."""
        ahead, theirs = self._pairs(leader, arm)
        if not ahead:
            return ""
        n = len(ahead)
        gap = (math.fsum(ahead) - math.fsum(theirs)) / n
        error = math.sqrt(paired_variance(ahead, theirs, gap) / n * rest)
        if gap <= max(z * error, SAME):
            return ""
        told = f"{gap:.3f} worse than {self.name(leader)} on the same {n} cases"
        if not rest:
            return f"{told}: all of them."
        return f"{told}; from {z * error:.3f} on there it is given up."

    def _pairs(self, leader: int, arm: int) -> tuple[list[float], list[float]]:
        """Cases that both have a value for: all of them, unless failures are dropped."""
        both = zip(self.board.worth(leader), self.board.worth(arm), strict=True)
        pairs = [(a, b) for a, b in both if a is not None and b is not None]
        return [a for a, _ in pairs], [b for _, b in pairs]
