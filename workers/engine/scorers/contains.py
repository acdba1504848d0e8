"""The expected text, or one or all of several, occurs somewhere in the answer."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote

MOST_SHOWN = 3  # texts of those that were looked for
MOST_TEXTS = 100
# YAML reads 42 without quotes as a number.
Text = Annotated[str, Field(min_length=1, max_length=1_000, coerce_numbers_to_str=True)]


class Contains(Scorer):
    name: ClassVar[str] = "contains"
    summary: ClassVar[str] = (
        "The expected text, or any or all of several texts, occur somewhere in the answer."
    )
    needs_expected: ClassVar[bool] = True

    ignore_case: bool = Field(default=True, description="Treat capitals and small letters alike.")
    match: Literal["any", "all"] = Field(
        default="any",
        title="Of several texts",
        description="Whether one of several texts is enough, or all of them must occur.",
    )
    separator: str = Field(
        default="",
        max_length=10,
        description="With | here, Paris|Lutetia expects two texts. Empty: the expected text is one "
        "text.",
    )
    texts: Annotated[tuple[Text, ...], Field(max_length=MOST_TEXTS)] = Field(
        default=(),
        description="Texts to look for in every answer, one a line, instead of the expected text.",
    )

    @property
    def compares(self) -> bool:
        return not self.texts

    def steps(self, answer: str, case: Case) -> float:
        texts = len(self.texts)
        if not texts:
            texts = 1 + (case.expected or "").count(self.separator) if self.separator else 1
        return len(answer) * texts

    def judge(self, answer: str, case: Case) -> Judgement:
        wanted = self._wanted(case)
        text = self._normal(answer)
        if self.match == "all":
            return self._need_all([one for one in wanted if self._normal(one) not in text], wanted)
        for one in wanted:
            if self._normal(one) in text:
                return self.verdict(True, f"contains {quote(one)}")
        return self.verdict(False, f"does not contain {listed(wanted, 'or', 'nor')}")

    def _need_all(self, missing: Sequence[str], wanted: Sequence[str]) -> Judgement:
        if missing:
            return self.verdict(False, f"does not contain {listed(missing, 'and', 'and')}")
        return self.verdict(True, f"contains {listed(wanted, 'and', 'and')}")

    def _wanted(self, case: Case) -> Sequence[str]:
        if self.texts:
            return self.texts
        expected = expected_of(case, self.name)
        parts = expected.split(self.separator) if self.separator else [expected]
        wanted = [part.strip() for part in parts if part.strip()]
        if not wanted:
            raise ScorerFailed(
                f"Case {case.position} has only separators in `{case.expected_column}`. "
                f"Write at least one text that the answer should contain."
            )
        return wanted

    def _normal(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text


def listed(texts: Sequence[str], between: str, before_more: str) -> str:
    shown = f" {between} ".join(map(quote, texts[:MOST_SHOWN]))
    others = len(texts) - MOST_SHOWN
    return f"{shown}, {before_more} {others:,} more" if others > 0 else shown
