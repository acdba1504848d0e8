"""The answer is the expected text."""

from typing import ClassVar

from pydantic import Field

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote
from workers.engine.scorers.normal_text import in_one_form, with_single_spaces, without_punctuation

STEPS_PER_CHARACTER = 30  # measured, of all that makes texts equal on letters outside ASCII


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
    ignore_spaces: bool = Field(
        default=False,
        title="Ignore how many spaces",
        description="Treat any number of spaces and line breaks as one space.",
    )
    ignore_punctuation: bool = Field(
        default=False,
        description="Leave out full stops, commas, quotation marks and brackets.",
    )
    normalize_unicode: bool = Field(
        default=False,
        title="Normalise Unicode",
        description="Treat characters alike that mean the same, as full-width letters (NFKC).",
    )

    def steps(self, answer: str, case: Case) -> float:
        is_plain = not (self.ignore_spaces or self.ignore_punctuation or self.normalize_unicode)
        return len(answer) if is_plain else STEPS_PER_CHARACTER * len(answer)

    def judge(self, answer: str, case: Case) -> Judgement:
        expected = expected_of(case, self.name)
        wanted = self._normal(expected)
        if self.ignore_punctuation and not wanted.strip():
            raise ScorerFailed(
                f"Case {case.position} expects {quote(expected)}, of which nothing is left without "
                "punctuation. Write words, or set ignore_punctuation: false."
            )
        if self._normal(answer) == wanted:
            return self.verdict(True, f"is {quote(expected)}")
        return self.verdict(False, f"expected {quote(expected)}, got {quote(answer)}")

    def _normal(self, text: str) -> str:
        if self.normalize_unicode:
            text = in_one_form(text)
        if self.ignore_punctuation:
            text = without_punctuation(text)
        if self.ignore_spaces:
            text = with_single_spaces(text)
        elif self.strip:
            text = text.strip()
        return text.casefold() if self.ignore_case else text
