"""Learns from the candidates tried so far which untried one promises most, and tries that."""

import math
from statistics import NormalDist

from pydantic import Field

from workers.engine.strategies.choices import choices_of, difference
from workers.engine.strategies.gaussian_process import GaussianProcess
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds

NORMAL = NormalDist()


class BayesianOptions(Options):
    sample_fraction: float = Field(
        default=0.25, gt=0, le=1, description="The share of the candidates that is tried."
    )


class Bayesian(Rounds[BayesianOptions]):
    """A Gaussian process over steps and models; the expected improvement decides. The first
    candidates are drawn by the seed and run together."""

    options_type = BayesianOptions

    def next_pulls(self) -> list[Pull]:
        tried = [arm for arm in self.alive if self.board.count(arm)]
        left = self._most() - len(tried)
        if left <= 0:
            return []
        if not tried:
            steps = len(choices_of(self.candidates)[0])
            drawn = self.random.sample(self.alive, min(self._most(), 2 * (steps + 1)))
            return self.pulls(sorted(drawn), self.cases)
        return self.pulls(self._promising(tried)[: min(self.options.batch or 1, left)], self.cases)

    def _most(self) -> int:
        total = len(self.candidates)
        return min(total, max(2, math.ceil(total * self.options.sample_fraction)))

    def _promising(self, tried: list[int]) -> list[int]:
        """The untried arms, the greatest expected improvement first."""
        choices = choices_of(self.candidates)
        means = [self.board.mean(arm) for arm in tried]
        process = GaussianProcess([choices[arm] for arm in tried], means, difference)
        best = max(means)

        def improvement(arm: int) -> float:
            guess = process.predict(choices[arm])
            z = (guess.mean - best) / guess.deviation
            return guess.deviation * (z * NORMAL.cdf(z) + NORMAL.pdf(z))

        untried = [arm for arm in self.alive if arm not in tried]
        return sorted(untried, key=lambda arm: (-improvement(arm), arm))
