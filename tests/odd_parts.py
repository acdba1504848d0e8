"""A scorer and a kind that raise, for tests of who must survive that."""

from typing import ClassVar, Literal

from workers.engine.kinds import KINDS
from workers.engine.kinds.evaluate import Evaluation
from workers.engine.records import Candidate, Case, Judgement, Reply, Request
from workers.engine.scorers import SCORERS, AskingScorer
from workers.engine.scorers.base import Ask
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


def register() -> None:
    SCORERS.ours["odd"] = OddJudge
    KINDS["odd"] = OddKind
