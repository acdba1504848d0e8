"""What every scorer is: its options as a schema, and a judgement of one answer on one case."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import ClassVar

from workers.engine.errors import ScorerFailed
from workers.engine.named import WithOptions
from workers.engine.records import Case, Judgement, Reply, Request
from workers.engine.spec.model_choice import ModelChoice

LONGEST_QUOTE = 80  # characters of an answer shown in an explanation
INSTRUCTION_TOKENS = 150  # of what a judge is told besides its options
VERDICT_TOKENS = 40

Ask = Callable[[Request], Awaitable[Reply]]


class BaseScorer(WithOptions):
    """The fields of a scorer are its options."""

    name: ClassVar[str] = ""  # beside its judgements; empty: the name of its class
    needs_expected: ClassVar[bool] = True
    """Whether no case can be judged without an expected answer."""

    asks: ClassVar[bool]
    """Whether it asks a model, or judges at once."""

    judging_seconds: ClassVar[float] = 10.0
    """How long it may take for one answer where it judges in a process of its own."""

    @property
    def problem(self) -> str:
        """Why no run may be made with it, though one that is stored can be looked at. Empty:
        nothing is wrong."""
        return ""

    @property
    def own_name(self) -> str:
        return self.name or type(self).__name__

    @property
    def models(self) -> dict[str, ModelChoice]:
        """Those it asks, by the name of the option that names them."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: one for name, one in values.items() if isinstance(one, ModelChoice)}

    def verdict(self, passed: bool, explanation: str) -> Judgement:
        return Judgement(self.own_name, 1.0 if passed else 0.0, passed, explanation)


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


class AskingScorer(BaseScorer):
    """One that asks a model. Its calls are throttled, cached and paid like any other, and counted
    apart from those of the target, as role `judge`."""

    asks: ClassVar[bool] = True
    calls: ClassVar[int] = 1  # that it makes for an answer at most, for estimates

    def guess_tokens(self, prompt: int, answer: int) -> tuple[int, int]:
        """Of one of its calls, in and out: about a prompt and an answer of so many tokens."""
        told = sum(len(text) for text in dict(self).values() if isinstance(text, str))
        return prompt + answer + told // 4 + INSTRUCTION_TOKENS, VERDICT_TOKENS

    @abstractmethod
    async def judge_by_asking(self, answer: str, case: Case, ask: Ask) -> Judgement:
        """Say how good the answer is, asking as often as it takes. Raise ScorerFailed if it cannot
        be judged; a call that failed may simply be raised."""


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
