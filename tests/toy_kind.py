"""A kind of run that uses every opening of the engine: the worked example of ARCHITECTURE.md.

`toy` starts with one prompt and makes a longer one of the best so far, a few times.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from workers.engine.json_text import digest
from workers.engine.kinds import KINDS
from workers.engine.records import Candidate, Score, Trial
from workers.engine.spec.configuration import Configuration, ModelChoice, Prompt, Template
from workers.engine.strategies import Strategy
from workers.engine.targets import ChatTarget, Target


def candidate_of(prompt: Prompt, model: ModelChoice) -> Candidate:
    document = {"prompt": prompt.model_dump(), "model": model.model_dump()}
    return Candidate(digest(document)[:16], prompt.name, document)


class Climb:
    """A round tries the newest candidate on every case, and the best then has a child."""

    learns = True

    def __init__(self, first: Prompt, model: ModelChoice, cases: int, rounds: int) -> None:
        self._prompts, self._model = [first], model
        self._cases, self._rounds = cases, rounds
        self._sums: list[float] = []
        self._queue: list[Trial] = []
        self._asked = self._told = 0
        self.candidates = [candidate_of(first, model)]

    @property
    def planned(self) -> int:
        return self._cases * self._rounds

    @property
    def listens(self) -> bool:
        return not self._queue

    @property
    def best(self) -> int | None:
        return max(range(len(self._sums)), key=self._sums.__getitem__, default=None)

    def ask(self, limit: int) -> list[Trial]:
        if not self._queue and len(self._sums) < self._rounds:
            self._open_round()
        given, self._queue = self._queue[:limit], self._queue[limit:]
        self._asked += len(given)
        return given

    def _open_round(self) -> None:
        if (best := self.best) is not None:
            parent = self._prompts[best]
            words = f"{parent.system} Again."
            child = Prompt(name=f"child {len(self._prompts)}", system=words, user=parent.user)
            self._prompts.append(child)
            self.candidates.append(candidate_of(child, self._model))
        key = self.candidates[-1].key
        self._sums.append(0.0)
        self._queue = [Trial(self._asked + case, key, case, 0) for case in range(self._cases)]

    def tell(self, scores: Sequence[Score]) -> None:
        self._sums[-1] += sum(score.value or 0.0 for score in scores)
        self._told += len(scores)


class Toy(Configuration):
    """Kind `toy`: a prompt that grows while it gets no worse."""

    learns: ClassVar[bool] = True
    bears: ClassVar[bool] = True
    target: ClassVar[type[Target]] = ChatTarget

    kind: Literal["toy"]
    prompt: Prompt
    model: ModelChoice
    rounds: Annotated[int, Field(ge=1, le=20)] = 3

    @property
    def called(self) -> list[ModelChoice]:
        return [self.model]

    @property
    def candidates(self) -> int:
        return self.rounds

    def templates(self) -> Iterator[Template]:
        yield Template("prompt.system", self.prompt.system, ())
        yield Template("prompt.user", self.prompt.user, ())

    def make_candidates(self) -> list[Candidate]:
        return [candidate_of(self.prompt, self.model)]

    def open_strategy(self, cases: int) -> Strategy:
        return Climb(self.prompt, self.model, cases, self.rounds)


class MadeToy(Toy):
    """Kind `made_toy`: the same on sums that it makes itself, and no dataset."""

    kind: Literal["made_toy"]  # type: ignore[assignment]
    dataset: None = None
    sums: Annotated[int, Field(ge=1, le=100)] = 4

    def make_cases(self) -> list[dict[str, str]]:
        return [
            {"question": f"What is {number} + {self.seed}?", "expected": str(number + self.seed)}
            for number in range(self.sums)
        ]


TOYS: dict[str, type[Configuration]] = {"toy": Toy, "made_toy": MadeToy}


def register() -> None:
    """In a worker of the tests; the tests themselves take it back, or documents would list it."""
    KINDS.update(TOYS)
