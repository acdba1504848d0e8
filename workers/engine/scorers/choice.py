"""The answer names the right letter of a multiple choice."""

import re
from typing import ClassVar

from pydantic import Field, field_validator

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote

STEPS_PER_CHARACTER = 20  # measured like those of numeric
OPENING = r"[\s(\[{*_`\"']{0,6}"
# Where a letter is looked for, in this order; the last one found counts.
BOXED = re.compile(r"\\boxed\{" + OPENING + r"([A-Za-z])\b")
ANSWERED = re.compile(
    r"\b(?:answer|option|choice)\b(?:\s{0,5}(?:is|:|=))?" + OPENING + r"([A-Za-z])(?![\w'])",
    re.IGNORECASE,
)
# Alone in its line, or with a bracket, full stop or colon after it: "A dog" names no letter.
ALONE = re.compile(r"(?m)^[\s(\[*_`\"']{0,6}([A-Za-z])(?:[)\].:*_`\"']{1,6}(?!\w)|[ \t]*$)")
BRACKETED = re.compile(r"(?<!\w)[(\[]([A-Za-z])[)\]]")
PLACES = (BOXED, ANSWERED, ALONE, BRACKETED)


class Choice(Scorer):
    name: ClassVar[str] = "choice"
    compares_answers: ClassVar[bool] = False  # a letter is expected
    summary: ClassVar[str] = (
        "The answer names the expected letter of a multiple choice, as in B, (B), Answer: B."
    )

    letters: str = Field(
        default="ABCDE", min_length=2, max_length=26, description="The letters to choose from."
    )

    @field_validator("letters")
    @classmethod
    def _are_letters(cls, letters: str) -> str:
        if not (letters.isascii() and letters.isalpha()):
            raise ValueError("Give letters from A to Z without anything between, as in ABCD.")
        return letters.upper()

    def steps(self, answer: str, case: Case) -> float:
        return STEPS_PER_CHARACTER * len(answer)

    def judge(self, answer: str, case: Case) -> Judgement:
        expected, found = self._expected(case), self._letter_in(answer)
        if found is None:
            return self.verdict(False, f"names no letter of {self.letters}: {quote(answer)}")
        if found == expected:
            return self.verdict(True, f"chose {found}")
        return self.verdict(False, f"chose {found}, expected {expected}")

    def _letter_in(self, text: str) -> str | None:
        for place in PLACES:
            found = [str(letter).upper() for letter in place.findall(text)]
            known = [letter for letter in found if letter in self.letters]
            if known:
                return known[-1]
        return None

    def _expected(self, case: Case) -> str:
        text = expected_of(case, self.name)
        letter = text.strip().strip("()[].: ").upper()
        if len(letter) != 1 or letter not in self.letters:
            raise ScorerFailed(
                f"Case {case.position} expects {quote(text)}, which is not one of the letters "
                f"{self.letters}. Put a letter into `{case.expected_column}`, or change `letters`."
            )
        return letter
