"""A kind of run that uses every opening of the engine: the worked example of ARCHITECTURE.md.

`toy` starts with one prompt and has a model rewrite the best so far, a few times.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from runs.kinds import SITE_KINDS
from runs.kinds.base import SiteKind
from tests.engine.lane_work import replay_episode
from workers.engine.json_text import digest
from workers.engine.kinds import KINDS
from workers.engine.records import (
    ANSWER,
    EVALUATE,
    PROPOSE,
    Candidate,
    Case,
    Outcome,
    Reply,
    Request,
    Score,
    Trial,
)
from workers.engine.spec.births import names_filled
from workers.engine.spec.configuration import (
    Configuration,
    ModelChoice,
    ModelTrials,
    Prompt,
    Template,
    TrialRange,
)
from workers.engine.spec.line_ends import plain_line_ends
from workers.engine.spec.template import names_in
from workers.engine.strategies import Strategy
from workers.engine.targets import Ask, ChatTarget, Target, TargetParts

SITE, MADE_SITE = f"{__name__}.ToySite", f"{__name__}.MadeToySite"
TASK = 'Rewrite this prompt: """{0}"""'


def candidate_of(prompt: Prompt, model: ModelChoice) -> Candidate:
    document = {"prompt": prompt.document(), "model": model.model_dump()}
    return Candidate(digest(document)[:16], prompt.name, document)


def proposal_of(parent: Prompt, model: ModelChoice, number: int) -> Candidate:
    """The number makes it another one than an earlier proposal with the same words."""
    messages = [{"role": "user", "content": TASK.format(parent.system)}]
    document = {"messages": messages, "model": model.model_dump(), "number": number}
    return Candidate(digest(document)[:16], f"proposal {number}", document, PROPOSE)


class Climb:
    """A round tries the newest prompt on every case; then a model rewrites the best one. A rewrite
    that fails, or that names columns which the first prompt did not, is not tried."""

    learns = True
    hears = frozenset({ANSWER})

    def __init__(self, toy: "Toy", cases: int) -> None:
        self._toy, self._cases = toy, cases
        self._prompts: dict[str, Prompt] = {}
        self._sums: dict[str, float] = {}
        self._queue: list[Trial] = []
        self._asked = self._proposed = 0
        self._rewritten = ""  # by the last proposal, if it can be used
        self._allowed = names_filled(toy)
        self.candidates: list[Candidate] = []
        self._bear(toy.prompt)

    @property
    def planned(self) -> int | None:
        """What a failed proposal would have led to is not tried, so nobody knows before the end."""
        return None

    @property
    def listens(self) -> bool:
        return not self._queue

    @property
    def best(self) -> int | None:
        tried = [place for place, one in enumerate(self.candidates) if one.key in self._sums]
        return max(tried, key=lambda n: self._sums[self.candidates[n].key], default=None)

    def ask(self, limit: int) -> list[Trial]:
        if not self._queue:
            self._open_round()
        given, self._queue = self._queue[:limit], self._queue[limit:]
        return given

    def _open_round(self) -> None:
        if self._rewritten:
            name, user = f"child {self._proposed}", self._toy.prompt.user
            self._bear(Prompt(name=name, system=self._rewritten, user=user))
            self._rewritten = ""
        newest = self.candidates[-1]
        if newest.role == EVALUATE and newest.key not in self._sums:
            self._sums[newest.key] = 0.0
            self._queue_trials(newest, range(self._cases))
        elif self._proposed + 1 < self._toy.rounds:
            self._propose()

    def _propose(self) -> None:
        assert self.best is not None  # the first prompt was tried
        parent = self._prompts[self.candidates[self.best].key]
        writer = self._toy.writer or self._toy.model
        self._proposed += 1
        self.candidates.append(proposal_of(parent, writer, self._proposed))
        self._queue_trials(self.candidates[-1], [0], repeat=self._proposed)

    def _queue_trials(self, one: Candidate, cases: Sequence[int], repeat: int = 0) -> None:
        self._queue += [Trial(self._asked + n, one.key, c, repeat) for n, c in enumerate(cases)]
        self._asked += len(cases)

    def tell(self, scores: Sequence[Score]) -> None:
        for score in scores:
            if score.trial.candidate in self._sums:
                self._sums[score.trial.candidate] += score.value or 0.0
            elif score.answer and set(names_in(score.answer)) <= self._allowed:
                self._rewritten = plain_line_ends(score.answer)

    def _bear(self, prompt: Prompt) -> None:
        candidate = candidate_of(prompt, self._toy.model)
        self._prompts[candidate.key] = prompt
        self.candidates.append(candidate)


class NotingTarget:
    """Gives the first case a value of its own, and keeps a record of what happened there; both are
    computed in a process of their own."""

    is_one_call: ClassVar[bool] = False

    def __init__(self, parts: TargetParts) -> None:
        self._chat = ChatTarget(parts)
        self._processes = parts.processes

    def opening(self, candidate: Candidate, case: Case, repeat: int) -> Request:
        return self._chat.opening(candidate, case, repeat)

    async def answer(
        self, opening: Request | None, candidate: Candidate, case: Case, repeat: int, ask: Ask
    ) -> Reply | Outcome:
        reply = await self._chat.answer(opening, candidate, case, repeat, ask)
        if case.position or candidate.role != EVALUATE:
            return reply
        question = case.fields["question"]
        episode = await self._processes.call(replay_episode, question, reply.text)
        return Outcome(reply, value=episode.value, record=episode.record)


class Toy(Configuration):
    """Kind `toy`: a prompt that a model rewrites."""

    learns: ClassVar[bool] = True
    bears: ClassVar[bool] = True
    keeps_records: ClassVar[bool] = True
    target: ClassVar[type[Target]] = NotingTarget

    kind: Literal["toy"]
    prompt: Prompt
    model: ModelChoice
    writer: ModelChoice | None = None  # who rewrites; else the model itself
    rounds: Annotated[int, Field(ge=1, le=20)] = 3

    @property
    def called(self) -> list[ModelChoice]:
        return [self.model] if self.writer is None else [self.model, self.writer]

    @property
    def answering(self) -> list[ModelChoice]:
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
        return Climb(self, cases)

    def bound_trials(self, cases: int) -> TrialRange:
        """At least those of the first prompt: each rewrite may fail."""
        return TrialRange(cases, self.rounds * cases)

    def told(self, cases: int) -> list[ModelTrials]:
        return [ModelTrials(self.called[-1], self.rounds - 1)]


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


class ToySite(SiteKind):
    """What the site needs of it: all as most kinds have it, so a name is enough."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "Toy"


class MadeToySite(ToySite):
    name: ClassVar[str] = "made_toy"
    title: ClassVar[str] = "Toy on cases of its own"


TOYS: dict[str, type[Configuration]] = {"toy": Toy, "made_toy": MadeToy}


def register() -> None:
    """In a worker of the tests; the tests themselves take it back, or documents would list it."""
    KINDS.update(TOYS)
    SITE_KINDS.update(dict.fromkeys(TOYS, SITE))
