"""Learns from the candidates tried so far which untried one promises most, and tries that."""

import math
from statistics import NormalDist
from typing import NamedTuple

from pydantic import Field

from workers.engine.strategies.choices import choices_of, difference
from workers.engine.strategies.gaussian_process import GaussianProcess, Guess
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds

NORMAL = NormalDist()
# What it learns takes the square of those tried, for each that is left: a second at these numbers.
MOST_CANDIDATES = 1_000
MOST_TRIED = 250


class BayesianOptions(Options):
    sample_fraction: float = Field(
        default=0.25,
        gt=0,
        le=1,
        title="Share of combinations to try",
        description="From 0 to 1: 0.25 tries a quarter of them.",
    )


class Forecast(NamedTuple):
    """What the process expects of a candidate that was not tried yet."""

    mean: float
    deviation: float
    improvement: float  # over the best so far, on average: the greatest is tried next


class Bayesian(Rounds[BayesianOptions]):
    """For many combinations of few steps, each dear to evaluate: it tries a part of them, on all
    cases, and learns which models do well in which step. A Gaussian process over steps and models;
    the expected improvement decides. The first candidates are drawn by the seed and run together.
    """

    label = "Bayesian search"
    summary = (
        "Better for very many combinations: tries a part of them on all cases, and learns "
        "from those which one to try next."
    )
    options_type = BayesianOptions

    @classmethod
    def too_many(cls, candidates: int, options: BayesianOptions) -> str:
        tried = count_tried(candidates, options)
        if candidates <= MOST_CANDIDATES and tried <= MOST_TRIED:
            return ""
        return (
            f"Bayesian search would try {tried:,} of {candidates:,} combinations. It can learn "
            f"from at most {MOST_TRIED} of {MOST_CANDIDATES:,}: lower its share of combinations to "
            "try, or choose another strategy, such as paired_elimination."
        )

    def next_pulls(self) -> list[Pull]:
        tried = self._tried()
        left = self._most() - len(tried)
        if left <= 0:
            return []
        if not tried:
            steps = len(choices_of(self.candidates)[0])
            drawn = self.random.sample(self.alive, min(self._most(), 2 * (steps + 1)))
            return self.pulls(sorted(drawn), self.cases)
        forecasts = self.forecasts()
        promising = sorted(forecasts, key=lambda arm: (-forecasts[arm].improvement, arm))
        return self.pulls(promising[: min(self.options.batch or 1, left)], self.cases)

    def forecasts(self) -> dict[int, Forecast]:
        """Of the arms not tried yet, by those that were. Empty before the first were."""
        tried = self._tried()
        if not tried:
            return {}
        choices = choices_of(self.candidates)
        means = [self.board.mean(arm) for arm in tried]
        process = GaussianProcess([choices[arm] for arm in tried], means, difference)
        guesses = {arm: process.predict(choices[arm]) for arm in self.alive if arm not in tried}
        return {
            arm: Forecast(guess.mean, guess.deviation, improvement(guess, max(means)))
            for arm, guess in guesses.items()
        }

    def _tried(self) -> list[int]:
        return [arm for arm in self.alive if self.board.count(arm)]

    def _most(self) -> int:
        return count_tried(len(self.candidates), self.options)


def count_tried(candidates: int, options: BayesianOptions) -> int:
    return min(candidates, max(2, math.ceil(candidates * options.sample_fraction)))


def improvement(guess: Guess, best: float) -> float:
    """By how much it is expected to be better than the best, where being worse costs nothing."""
    z = (guess.mean - best) / guess.deviation
    return guess.deviation * (z * NORMAL.cdf(z) + NORMAL.pdf(z))
