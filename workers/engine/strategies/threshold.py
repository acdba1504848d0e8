"""Sorts candidates into those above and those below a threshold, as cheaply as it can."""

from pydantic import Field

from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds

FIRST_SHARE = 10  # the first round is a tenth of the cases


class ThresholdOptions(Options):
    threshold: float = Field(
        default=0.75,
        title="Score to reach",
        description="The mean score from which on a combination is good enough.",
    )


class Threshold(Rounds[ThresholdOptions]):
    """For the question who is good enough, not who is best: who is clearly above the threshold is
    done with, who is clearly below it is given up, and the better of those above is a guess."""

    label = "Threshold"
    summary = (
        "Better if the question is which combinations are good enough: sorts them into those "
        "above and those below a score."
    )
    options_type = ThresholdOptions

    @property
    def best(self) -> int | None:
        """Of those above the threshold; else of those that nobody could tell; else who left last.
        They left at different times: what all of them have seen decides."""
        sure = [arm for arm in self.alive if self._is_above(arm)]
        if sure or self.alive:
            return self.board.choose(sure or self.alive)
        last = max(elimination.round for elimination in self.eliminations.values())
        gone = self.eliminations.items()
        return self.board.choose([arm for arm, left in gone if left.round == last])

    def next_pulls(self) -> list[Pull]:
        if not self.history:
            return self.pulls(self.alive, max(1, self.cases // FIRST_SHARE))
        unsure = [arm for arm in self.alive if not self._is_above(arm)]
        return self.pulls(unsure, self.options.batch or 1)

    def learn(self) -> None:
        aim = self.options.threshold
        found = {arm: self.board.interval(arm, self.options.confidence) for arm in self.alive}
        self.eliminate(
            {
                arm: f"{interval} is below the threshold of {aim:g} on {interval.n} cases."
                for arm, interval in found.items()
                if interval.high < aim
            }
        )

    def _is_above(self, arm: int) -> bool:
        return self.board.interval(arm, self.options.confidence).low > self.options.threshold
