"""Looks at the leader and its strongest rival only, until the rival cannot be much better."""

from pydantic import Field

from workers.engine.strategies.intervals import Interval
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds


class EpsilonLucbOptions(Options):
    epsilon: float = Field(
        default=0.01,
        ge=0,
        title="Difference that does not matter",
        description="In score: the search ends when no rival can be better by more than this.",
    )
    n_initial: int = Field(
        default=1,
        ge=1,
        title="First cases",
        description="Cases that every combination sees before they are compared.",
    )


class EpsilonLucb(Rounds[EpsilonLucbOptions]):
    """For a quick answer where a small difference does not matter: few evaluations, and often the
    second best. A greater confidence and more first cases make it surer."""

    label = "Epsilon LUCB"
    summary = (
        "Better for a quick answer, if a small difference does not matter: compares only the "
        "leader and its strongest rival. Often ends with the second best."
    )
    options_type = EpsilonLucbOptions

    def next_pulls(self) -> list[Pull]:
        if not self.history:
            return self.pulls(self.alive, self.options.n_initial)
        if len(self.alive) == 1:
            return []
        found = {arm: self.board.interval(arm, self.options.confidence) for arm in self.alive}
        leader = max(self.alive, key=lambda arm: found[arm].mean)
        rival = max((arm for arm in self.alive if arm != leader), key=lambda arm: found[arm].high)
        if self._is_decided(found[leader], found[rival]):
            # The winner has seen as much as anybody: a few lucky cases are not enough.
            most = max(map(self.board.count, self.alive))
            return self.pulls([leader], most - self.board.count(leader))
        return self.pulls([leader, rival], self.options.batch or 1)

    def _is_decided(self, leader: Interval, rival: Interval) -> bool:
        return rival.high - leader.low <= self.options.epsilon
