"""What every scorer is: its options as a schema, and a judgement of one answer on one case."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from functools import cache
from itertools import takewhile
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from workers.engine.errors import ScorerFailed
from workers.engine.named import WithOptions
from workers.engine.records import Case, Facts, Judgement, Reply, Request
from workers.engine.spec.model_choice import ModelChoice

LONGEST_QUOTE = 80  # characters of an answer shown in a reason
INSTRUCTION_TOKENS = 150  # of what a judge is told besides its options
VERDICT_TOKENS = 40

LEAST_WEIGHT = 0.001  # but 0: smaller ones only lose digits
LONGEST_NAME = 100  # characters of a scorer's name beside its judgement, and of a label

Ask = Callable[[Request], Awaitable[Reply]]
Post = Callable[[str, bytes, float], Awaitable[bytes]]
"""Sends a body to a URL, and waits for so many seconds."""


def check_weight(weight: float) -> float:
    if 0 < weight < LEAST_WEIGHT:
        raise ValueError(f"Give 0, or a weight from {LEAST_WEIGHT:g} up.")
    return weight


class BaseScorer(WithOptions):
    """The fields of a scorer are its options. Those here hold for every scorer, and are applied by
    `settled` and `verdict_of`, whatever the scorer does; one that declares an option of the same
    name itself keeps its own meaning of it."""

    is_negated: bool = Field(
        default=False,
        alias="not",
        title="Not",
        description="Turned over: right is wrong, and the value is 1 minus the value.",
    )
    weight: Annotated[float, AfterValidator(check_weight)] = Field(
        default=1,
        ge=0,
        le=1000,
        description="How much it counts beside the other scorers. 0: it is shown and not counted.",
    )
    threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The lowest value with which an answer is right. Empty: as the scorer says.",
    )
    called: str = Field(
        default="",
        alias="as",
        title="Shown as",
        max_length=LONGEST_NAME,
        description="Its name in results, to tell two alike apart. Empty: that of the scorer.",
    )

    name: ClassVar[str] = ""  # beside its judgements; empty: the name of its class
    needs_expected: ClassVar[bool] = True
    """Whether no case can be judged without an expected answer."""

    compares_answers: ClassVar[bool] = True
    """Whether another answer, whatever it says, may be the expected one."""

    asks: ClassVar[bool]
    """Whether it asks a model, or judges at once."""

    wants_facts: ClassVar[bool] = False
    """Whether it judges what an answer took, instead of only what it says."""

    is_written_code: ClassVar[bool] = False
    """Whether its options hold a program, which only some people may write."""

    judging_seconds: ClassVar[float] = 10.0
    """How long it may take for one answer where it judges in a process of its own."""

    @property
    def problem(self) -> str:
        """Why no run may be made with it, though one that is stored can be looked at. Empty:
        nothing is wrong."""
        return ""

    @property
    def compares(self) -> bool:
        """Whether it needs an expected answer, with these options."""
        return self.needs_expected

    @property
    def own_name(self) -> str:
        return self.called or self.name or type(self).__name__

    @property
    def counts(self) -> float:
        """Its part in the score of a trial."""
        return 1.0 if "weight" in declared_by(type(self)) else self.weight

    @property
    def least(self) -> float | None:
        """The lowest value that passes, of one that does not decide on it itself."""
        return None if "threshold" in declared_by(type(self)) else self.threshold

    @property
    def models(self) -> dict[str, ModelChoice]:
        """Those it asks, by the name of the option that names them."""
        found = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, ModelChoice):
                found[name] = value
            elif isinstance(value, list | tuple):
                several = [one for one in value if isinstance(one, ModelChoice)]
                found |= {f"{name}.{index}": one for index, one in enumerate(several)}
        return found

    def graded(self, value: float, reason: str, label: str = "") -> Judgement:
        """Of a scorer with a threshold of its own."""
        assert self.threshold is not None
        return Judgement(self.own_name, value, value >= self.threshold, reason, label)

    def verdict(self, passed: bool, reason: str) -> Judgement:
        return Judgement(self.own_name, 1.0 if passed else 0.0, passed, reason)

    def not_scored(self, reason: str, error: str = "") -> Judgement:
        """Of an answer about which it has nothing to say: it is left out of the trial's value."""
        return Judgement(self.own_name, None, None, reason, error=error)


@cache
def declared_by(scorer: type[BaseScorer]) -> frozenset[str]:
    """The fields that a scorer does not have from the base of all."""
    own = takewhile(lambda base: base is not BaseScorer, scorer.__mro__)
    return frozenset(name for base in own for name in vars(base).get("__annotations__", {}))


class Scorer(BaseScorer):
    """One that judges at once: it never sees more than answer and case."""

    asks: ClassVar[bool] = False

    def steps(self, answer: str, case: Case) -> float:
        """How much there is to do at the worst, in steps of some 20 ns. Few are done on the event
        loop, more in a process of their own; `math.inf` says that nobody knows. Plug-ins are not
        asked: theirs is another process always."""
        return len(answer)

    @abstractmethod
    def judge(self, answer: str, case: Case) -> Judgement:
        """Say how good the answer is. Raise ScorerFailed if the case cannot be judged."""


class FactScorer(Scorer):
    """One that judges what the answer took, too."""

    wants_facts: ClassVar[bool] = True
    needs_expected: ClassVar[bool] = False
    compares_answers: ClassVar[bool] = False

    def steps(self, answer: str, case: Case) -> float:
        return 0.0  # ours compare two numbers, however long the answer is

    def judge(self, answer: str, case: Case) -> Judgement:
        return self.judge_facts(answer, case, Facts())

    @abstractmethod
    def judge_facts(self, answer: str, case: Case, facts: Facts) -> Judgement:
        """Say how good it is. `not_scored` where what it needs is unknown."""


class AskingScorer(BaseScorer):
    """One that asks a model. Its calls are throttled, cached and paid like any other, and counted
    apart from those of the target, as role `judge`."""

    asks: ClassVar[bool] = True
    calls: ClassVar[int] = 1  # that it makes for an answer at most, for estimates
    calls_are_each: ClassVar[bool] = False  # of each of its models, not of all together

    def guess_tokens(self, prompt: int, answer: int) -> tuple[int, int]:
        """Of one of its calls, in and out: about a prompt and an answer of so many tokens."""
        told = sum(len(text) for text in dict(self).values() if isinstance(text, str))
        return prompt + answer + told // 4 + INSTRUCTION_TOKENS, VERDICT_TOKENS

    @abstractmethod
    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        """Say how good the answer is, asking as often as it takes. Raise ScorerFailed if it cannot
        be judged; a call that failed may simply be raised."""


class PostingScorer(BaseScorer):
    """One that asks a service which is no model. What it posts is neither cached nor paid."""

    asks: ClassVar[bool] = False

    @property
    @abstractmethod
    def posts_to(self) -> str:
        """The URL, which a run is refused for if it may not be called."""

    @abstractmethod
    async def judge_by_posting(self, answer: str, case: Case, post: Post) -> Judgement:
        """Say how good the answer is. A post that failed may simply be raised."""


def expected_of(case: Case, scorer: str) -> str:
    """The case's expected answer; a missing label is the case's fault, not a wrong answer."""
    expected, column = case.expected, case.expected_column or "expected"
    if expected is None or not expected.strip():
        state = "has no field" if expected is None else "has an empty"
        raise ScorerFailed(
            f"Case {case.position} {state} `{column}`, which the scorer {scorer} compares with. "
            "Fill in the right answer in the dataset, or choose another column as `expected`."
        )
    return expected


def quote(text: str) -> str:
    """A short, printable excerpt: control characters and lone surrogates come out escaped."""
    if len(text) <= LONGEST_QUOTE:
        return repr(text)
    return repr(text[:LONGEST_QUOTE]) + "…"
