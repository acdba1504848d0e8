"""Every candidate on every case: the price that the other strategies save."""

from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds


class BruteForce(Rounds[Options]):
    """For few candidates and cases, or when every number is wanted: nothing is left to chance."""

    label = "Brute force"
    summary = (
        "Better for a handful of combinations, or if you want every number: tries all of them "
        "on all cases."
    )
    keeps_front = True

    def next_pulls(self) -> list[Pull]:
        return self.pulls(self.alive, self.cases)
