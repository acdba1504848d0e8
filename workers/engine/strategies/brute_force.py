"""Every candidate on every case: the price that the other strategies save."""

from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds


class BruteForce(Rounds[Options]):
    def next_pulls(self) -> list[Pull]:
        return self.pulls(self.alive, self.cases)
