"""The expected text occurs somewhere in the answer."""

from typing import ClassVar

from pydantic import Field

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote

MOST_SHOWN = 3  # texts of those that were looked for


class Contains(Scorer):
    name: ClassVar[str] = "contains"
    summary: ClassVar[str] = "The expected text occurs somewhere in the answer."
    needs_expected: ClassVar[bool] = True

    ignore_case: bool = Field(default=True, description="Treat capitals and small letters alike.")
    separator: str = Field(
        default="",
        max_length=10,
        description="With | here, Paris|Lutetia expects either of the two texts. Empty: the "
        "expected text is one text.",
    )

    def steps(self, answer: str, case: Case) -> float:
        texts = 1 + (case.expected or "").count(self.separator) if self.separator else 1
        return len(answer) * texts

    def judge(self, answer: str, case: Case) -> Judgement:
        alternatives = self._alternatives(case)
        text = self._normal(answer)
        for alternative in alternatives:
            if self._normal(alternative) in text:
                return self.verdict(True, f"contains {quote(alternative)}")
        missing = " or ".join(map(quote, alternatives[:MOST_SHOWN]))
        others = len(alternatives) - MOST_SHOWN
        told = f"{missing}, nor {others:,} more" if others > 0 else missing
        return self.verdict(False, f"does not contain {told}")

    def _alternatives(self, case: Case) -> list[str]:
        expected = expected_of(case, self.name)
        parts = expected.split(self.separator) if self.separator else [expected]
        alternatives = [part.strip() for part in parts if part.strip()]
        if not alternatives:
            raise ScorerFailed(
                f"Case {case.position} has only separators in `{case.expected_column}`. "
                f"Write at least one text that the answer should contain."
            )
        return alternatives

    def _normal(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text
