"""Some candidates, drawn by the seed, on every case."""

import math

from pydantic import Field

from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds


class RandomSearchOptions(Options):
    sample_fraction: float = Field(
        default=0.25,
        gt=0,
        le=1,
        title="Share of combinations to try",
        description="From 0 to 1: 0.25 tries a quarter of them.",
    )


class RandomSearch(Rounds[RandomSearchOptions]):
    """For a first impression at a known price: the best of a sample, which is seldom the best."""

    label = "Random search"
    summary = (
        "Better for a first impression at a known price: tries some combinations, drawn at "
        "random, on all cases. Often misses the best."
    )
    options_type = RandomSearchOptions
    keeps_front = True

    def next_pulls(self) -> list[Pull]:
        if self.history:
            return []
        tried = math.ceil(len(self.alive) * self.options.sample_fraction)
        drawn = set(self.random.sample(self.alive, tried))
        self.eliminate({arm: "Not drawn." for arm in self.alive if arm not in drawn})
        return self.pulls(self.alive, self.cases)
