"""Changes one step's model at a time while that helps, and starts again elsewhere when not."""

from statistics import fmean

from pydantic import Field

from workers.engine.strategies.board import SAME, average
from workers.engine.strategies.choices import choices_of, difference
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds


class HillClimbingOptions(Options):
    max_iterations: int = Field(
        default=20,
        ge=1,
        title="Changes in a climb, at most",
        description="A change is another model for one step.",
    )
    num_restarts: int = Field(
        default=3,
        ge=1,
        title="Climbs",
        description="Each starts from another combination, drawn at random.",
    )
    patience: int = Field(
        default=3,
        ge=1,
        title="Patience, changes",
        description="A climb ends after so many changes in a row that did not help.",
    )


class HillClimbing(Rounds[HillClimbingOptions]):
    """For pipelines of several steps where a model that is good in one combination is good in
    others: it tries a part of the combinations, each on all cases. Which neighbour is tried first
    is learned: the one whose changed model did best so far in that step, then the cheaper one.
    Every candidate that was tried counts in the end."""

    label = "Hill climbing"
    summary = (
        "Better for many steps, if a model that is good in one combination is good in others: "
        "changes the model of one step at a time while that helps."
    )
    options_type = HillClimbingOptions
    _here: int | None = None  # where the climb stands
    _climbs = _steps = _without_gain = 0
    _round: tuple[int, ...] = ()

    def next_pulls(self) -> list[Pull]:
        neighbours = self._neighbours() if self._is_climbing() else []
        if neighbours:
            self._steps += 1
            self._round = tuple(neighbours[: self.options.batch or 1])
            return self.pulls(self._round, self.cases)
        untried = [arm for arm in self.alive if not self.board.count(arm)]
        if self._climbs == self.options.num_restarts or not untried:
            return []
        self._climbs += 1
        self._here, self._steps, self._without_gain = None, 0, 0
        self._round = (self.random.choice(untried),)
        return self.pulls(self._round, self.cases)

    def learn(self) -> None:
        best = max(self._round, key=self.board.mean)
        if self._here is None:
            self._here = best
        elif self.board.mean(best) > self.board.mean(self._here) + SAME:
            self._here, self._without_gain = best, 0
        else:
            self._without_gain += 1

    def _is_climbing(self) -> bool:
        is_patient = self._without_gain < self.options.patience
        return self._here is not None and is_patient and self._steps < self.options.max_iterations

    def _neighbours(self) -> list[int]:
        """Untried arms that differ in one step, the most promising first."""
        choices = choices_of(self.candidates)
        here = choices[self._here or 0]
        near = [
            arm
            for arm in self.alive
            if not self.board.count(arm) and difference(choices[arm], here) == 1
        ]
        self.random.shuffle(near)
        tried = [arm for arm in self.alive if self.board.count(arm)]
        overall = fmean(self.board.mean(arm) for arm in tried)

        def promise(arm: int) -> tuple[float, float]:
            step = next(n for n, label in enumerate(choices[arm]) if label != here[n])
            alike = [other for other in tried if choices[other][step] == choices[arm][step]]
            if not alike:
                return -overall, float("inf")
            costs = [sample.cost for other in alike for sample in self.board.samples[other]]
            return -fmean(self.board.mean(other) for other in alike), average(costs)

        return sorted(near, key=promise)
