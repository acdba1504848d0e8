"""The answer begins with the expected text."""

from typing import ClassVar

from pydantic import Field

from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote


class StartsWith(Scorer):
    name: ClassVar[str] = "starts_with"
    summary: ClassVar[str] = "The answer begins with the expected text."

    ignore_case: bool = Field(default=True, description="Treat capitals and small letters alike.")

    def judge(self, answer: str, case: Case) -> Judgement:
        expected = expected_of(case, self.name).strip()
        begun = self._normal(answer.lstrip()).startswith(self._normal(expected))
        if begun:
            return self.verdict(True, f"begins with {quote(expected)}")
        return self.verdict(False, f"begins with {quote(answer.lstrip())}, not {quote(expected)}")

    def _normal(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text
