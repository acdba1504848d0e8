"""How few letters must be changed to make the answer the expected text."""

from typing import ClassVar

from pydantic import Field
from rapidfuzz.distance import Levenshtein

from workers.engine.records import Case
from workers.engine.scorers.closeness.base import LONGEST_COMPARED, Closeness

LETTERS_AT_ONCE = 64  # that the library compares in one step


class EditDistance(Closeness):
    name: ClassVar[str] = "edit_distance"
    summary: ClassVar[str] = (
        "How few letters differ from the expected text: 1 is equal, 0 is all other letters."
    )
    measured: ClassVar[str] = "likeness"

    ignore_case: bool = Field(default=True, description="Treat capitals and small letters alike.")

    def steps(self, answer: str, case: Case) -> float:
        other = min(len(case.expected or ""), LONGEST_COMPARED)
        return min(len(answer), LONGEST_COMPARED) * (1 + other / LETTERS_AT_ONCE)

    def closeness(self, answer: str, expected: str) -> float:
        one, other = answer.strip(), expected.strip()
        if self.ignore_case:
            one, other = one.casefold(), other.casefold()
        return float(Levenshtein.normalized_similarity(one, other))
