"""What every scorer is: its options as a schema, and a judgement of one answer on one case."""

from abc import abstractmethod
from typing import ClassVar

from workers.engine.errors import ScorerFailed
from workers.engine.named import WithOptions
from workers.engine.records import Case, Judgement

LONGEST_QUOTE = 80  # characters of an answer shown in an explanation


class Scorer(WithOptions):
    """The fields of a scorer are its options; `judge` never sees more than answer and case."""

    name: ClassVar[str] = ""  # beside its judgements; empty: the name of its class
    needs_expected: ClassVar[bool] = True
    """Whether no case can be judged without an expected answer."""

    @abstractmethod
    def judge(self, answer: str, case: Case) -> Judgement:
        """Say how good the answer is. Raise ScorerFailed if the case cannot be judged."""

    def verdict(self, passed: bool, explanation: str) -> Judgement:
        name = self.name or type(self).__name__
        return Judgement(name, 1.0 if passed else 0.0, passed, explanation)


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
