"""What every scorer is: its options as a schema, and a judgement of one answer on one case."""

from abc import abstractmethod
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement

LONGEST_QUOTE = 80  # characters of an answer shown in an explanation


class Scorer(BaseModel):
    """The fields of a scorer are its options; `judge` never sees more than answer and case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def judge(self, answer: str, case: Case) -> Judgement:
        """Say how good the answer is. Raise ScorerFailed if the case cannot be judged."""

    def verdict(self, passed: bool, explanation: str) -> Judgement:
        return Judgement(self.name, 1.0 if passed else 0.0, passed, explanation)


def expected_of(case: Case, scorer: str) -> str:
    """The case's expected answer; a missing label is the case's fault, not a wrong answer."""
    expected = case.expected
    if expected is None or not expected.strip():
        state = "has no field" if expected is None else "has an empty"
        raise ScorerFailed(
            f"Case {case.position} {state} `expected`, which the scorer {scorer} compares with. "
            "Add an `expected` column with the right answer to the dataset."
        )
    return expected


def quote(text: str) -> str:
    """A short, printable excerpt: control characters and lone surrogates come out escaped."""
    if len(text) <= LONGEST_QUOTE:
        return repr(text)
    return repr(text[:LONGEST_QUOTE]) + "…"
