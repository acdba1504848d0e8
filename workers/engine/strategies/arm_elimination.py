"""All candidates see the same cases, in growing rounds; who is clearly worse leaves."""

from typing import Literal

from pydantic import Field

from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds

FIRST_SHARE = 10  # the first round is a tenth of the cases


class ArmEliminationOptions(Options):
    growth: float = Field(
        default=2.0,
        ge=1,
        le=10,
        title="Growth of the rounds",
        description="Each round has this many times the cases of the one before.",
    )
    winner: Literal["survivors", "anyone"] = Field(
        default="survivors",
        title="Who can win",
        description="Only combinations that were not given up (survivors), or also one that was, "
        "if its few cases went better (anyone, as published).",
    )


class ArmElimination(Rounds[ArmEliminationOptions]):
    """The default, and the easiest to follow: an arm leaves when its interval ends below where a
    better one's begins. A smaller confidence is cheaper, a greater one surer."""

    label = "Arm elimination"
    summary = (
        "Better if the decisions must be easy to explain: a combination is given up when its "
        "interval lies below that of a better one. Usually needs more evaluations."
    )
    options_type = ArmEliminationOptions
    keeps_front = True

    @property
    def best(self) -> int | None:
        if self.options.winner == "survivors":
            return super().best
        return self.board.choose(range(len(self.candidates)), on_equal_data=False)

    def next_pulls(self) -> list[Pull]:
        if len(self.alive) <= 1 < len(self.candidates):  # one from the start is measured
            return []
        size = self.options.batch or max(1, self.cases // FIRST_SHARE)
        for _ in self.history:
            size = max(1, int(size * self.options.growth))
        return self.pulls(self.alive, size)

    def learn(self) -> None:
        found = {arm: self.board.interval(arm, self.options.confidence) for arm in self.alive}
        reasons: dict[int, str] = {}
        for arm in self.alive:
            better = [other for other in self.alive if found[other].low > found[arm].high]
            rivals = [other for other in better if self.board.may_replace(other, arm)]
            if rivals:
                rival = max(rivals, key=lambda other: found[other].low)
                reasons[arm] = (
                    f"{found[arm]} is below {self.name(rival)} with {found[rival]} "
                    f"on {self.board.count(arm)} cases."
                )
        self.eliminate(reasons)
