"""A scorer and a kind that raise, and strategies that do not come to an end, for tests of who must
survive that."""

import time
from typing import ClassVar, Literal

from workers.engine import overtime
from workers.engine.kinds import KINDS
from workers.engine.kinds.evaluate import Evaluation
from workers.engine.plugins import PLUGINS
from workers.engine.records import Candidate, Case, Judgement, Reply, Request
from workers.engine.scorers import SCORERS, AskingScorer
from workers.engine.scorers.base import Ask
from workers.engine.strategies.options import Options
from workers.engine.strategies.rounds import Pull, Rounds
from workers.engine.targets import Ask as TargetAsk
from workers.engine.targets import ChatTarget, Target


class OddJudge(AskingScorer):
    name: ClassVar[str] = "odd"
    summary: ClassVar[str] = "Raises at every fourth case, each time something else."
    needs_expected: ClassVar[bool] = False

    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        raised = {0: SystemExit(1), 4: KeyError("odd"), 8: RecursionError(), 12: OSError("odd")}
        if case.position in raised:
            raise raised[case.position]
        return self.verdict(True, "fine")


class OddTarget(ChatTarget):
    async def answer(
        self,
        opening: Request | None,
        candidate: Candidate,
        case: Case,
        repeat: int,
        ask: TargetAsk,
    ) -> Reply:
        raise SystemExit(1)  # as a library does that takes its process for its own


class OddKind(Evaluation):
    target: ClassVar[type[Target]] = OddTarget

    kind: Literal["odd"]  # type: ignore[assignment]


class Spins(Rounds[Options]):
    label = "Never decides"
    summary = "Computes for ever."
    options_type = Options
    planning_seconds: ClassVar[float] = 0.5

    def next_pulls(self) -> list[Pull]:
        while True:
            pass


class Learns(Spins):
    """Asks for a round, and never comes to an end with what it is told."""

    def next_pulls(self) -> list[Pull]:
        if self.history:
            super().next_pulls()
        return self.pulls(self.alive, 2)


class Devours(Spins):
    """Takes memory until there is none."""

    planning_seconds: ClassVar[float] = 60.0

    def next_pulls(self) -> list[Pull]:
        taken = []
        while True:
            taken.append(bytearray(64 * 1024 * 1024))


class Sleeps(Spins):
    """Waits where no exception reaches it."""

    def next_pulls(self) -> list[Pull]:
        overtime.GRACE_SECONDS = 0.0  # it will not end, however long one waits
        time.sleep(3600)
        return []


STRATEGIES = {f"{__name__}.{one.__name__}": one for one in (Spins, Learns, Devours, Sleeps)}


def register() -> None:
    SCORERS.ours["odd"] = OddJudge
    KINDS["odd"] = OddKind
    PLUGINS.update(STRATEGIES)
