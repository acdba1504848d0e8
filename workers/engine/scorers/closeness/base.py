"""What scorers share that say how close an answer is to the expected text, from 0 to 1."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import ClassVar

from pydantic import Field

from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of

LONGEST_COMPARED = 20_000  # characters of a text; the work grows with the product of both


class Closeness(Scorer):
    """The value is the closeness itself; the threshold makes it right or wrong."""

    measured: ClassVar[str]  # what the number is called in reasons

    threshold: float = Field(
        default=0.5, ge=0, le=1, description="The lowest value with which an answer is right."
    )

    @abstractmethod
    def closeness(self, answer: str, expected: str) -> float:
        """From 0, nothing in common, to 1."""

    def judge(self, answer: str, case: Case) -> Judgement:
        expected = expected_of(case, self.own_name)
        is_cut = max(len(answer), len(expected)) > LONGEST_COMPARED
        found = self.closeness(answer[:LONGEST_COMPARED], expected[:LONGEST_COMPARED])
        value = min(1.0, max(0.0, found))
        told = f"{self.measured} {value:.3f}, {self.threshold:g} is needed"
        if is_cut:
            told += f" (the first {LONGEST_COMPARED:,} characters were compared)"
        return self.graded(value, told)


def count_common(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Each as often as it is in both."""
    if set(other).isdisjoint(one):  # as most short answers are, and twice as quick to see
        return 0
    there = Counter(one)
    return sum(min(times, there.get(item, 0)) for item, times in Counter(other).items())
