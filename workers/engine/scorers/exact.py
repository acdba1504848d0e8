"""The answer is the expected text."""

from typing import ClassVar

from pydantic import Field

from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote


class Exact(Scorer):
    name: ClassVar[str] = "exact"
    summary: ClassVar[str] = "The answer is exactly the expected text."
    needs_expected: ClassVar[bool] = True

    ignore_case: bool = Field(default=False, description="Treat capitals and small letters alike.")
    strip: bool = Field(
        default=True,
        title="Ignore spaces around",
        description="Ignore spaces and line breaks around both texts.",
    )

    def judge(self, answer: str, case: Case) -> Judgement:
        expected = expected_of(case, self.name)
        if self._normal(answer) == self._normal(expected):
            return self.verdict(True, f"is {quote(expected)}")
        return self.verdict(False, f"expected {quote(expected)}, got {quote(answer)}")

    def _normal(self, text: str) -> str:
        stripped = text.strip() if self.strip else text
        return stripped.casefold() if self.ignore_case else stripped
