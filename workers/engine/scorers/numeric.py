"""The number in the answer is the expected number, give or take a tolerance."""

import math
import re
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar

from pydantic import Field

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, expected_of, quote

PLAIN_DIGITS = 300  # any whole number of fewer is one that a float can hold
LONGEST_NUMBER = 400  # characters; the longest finite float has 309 digits
STEPS_PER_CHARACTER = 20  # measured, of three patterns on nothing but digits and commas

# A sign counts only where it cannot be a minus between two numbers, as in 17-25.
NUMBER = (
    r"((?:(?<![\w.)])[-+])?[$€£]?"
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
    r"|(?:(?<![\w.)])[-+])?(?<![0-9])\.[0-9]+(?:[eE][-+]?[0-9]+)?)"
)
# Where a number is looked for, in this order; in each, the last one found counts.
MARKED = re.compile(r"####[ \t]{0,10}" + NUMBER)
ANSWERED = re.compile(r"\banswer[\s:=*_`]{0,10}(?:is[\s:=*_`]{0,10})?" + NUMBER, re.IGNORECASE)
ANYWHERE = re.compile(NUMBER)
DIGITS, SPACES = "0123456789", " \n\t"
DECORATION = str.maketrans("", "", ",$€£")


class Numeric(Scorer):
    name: ClassVar[str] = "numeric"
    summary: ClassVar[str] = (
        "The number in the answer (after ####, after “Answer:”, or the last one) "
        "is the expected number."
    )
    needs_expected: ClassVar[bool] = True
    compares_answers: ClassVar[bool] = False  # a number is expected

    tolerance: float = Field(
        default=0.001,
        ge=0,
        allow_inf_nan=False,
        description="The largest difference that still counts as right.",
    )

    def steps(self, answer: str, case: Case) -> float:
        return STEPS_PER_CHARACTER * len(answer)

    def judge(self, answer: str, case: Case) -> Judgement:
        expected = self._expected(case)
        found = number_in(answer)
        if found is None:
            return self.verdict(False, "no number found")
        if abs(found - expected) <= _as_written(self.tolerance):
            return self.verdict(True, f"found {_plain(found)}")
        return self.verdict(False, f"expected {_plain(expected)}, found {_plain(found)}")

    def _expected(self, case: Case) -> Decimal:
        text = expected_of(case, self.name)
        whole = ANYWHERE.fullmatch(_ascii_minus(text).strip())
        number = _read(whole[1]) if whole else _last(MARKED, _ascii_minus(text))
        if number is None:
            raise ScorerFailed(
                f"Case {case.position} expects {quote(text)}, which is not a number. "
                f"Put a number into `{case.expected_column}`, as in 42, 1,234.5 or #### 42, or use "
                "another scorer."
            )
        return number


def number_in(text: str) -> Decimal | None:
    """The number an answer gives, as written, so that 0.1 + 0.2 style rounding cannot matter."""
    plain = _ascii_minus(text)
    number = _last(MARKED, plain) if "####" in plain else None
    if number is None and "answer" in plain.lower():
        number = _last(ANSWERED, plain)
    return _last(ANYWHERE, end_with_number(plain)) if number is None else number


def end_with_number(text: str) -> str:
    """The part in which the last number is: no number has a space in it, nor does it end without a
    digit. Looking for numbers in all of the text takes ten times as long."""
    end = max(text.rfind(digit) for digit in DIGITS) + 1
    start = max(text.rfind(space, 0, end) for space in SPACES) + 1
    return text[start:end]


def _last(pattern: re.Pattern[str], text: str) -> Decimal | None:
    last = None
    for match in pattern.finditer(text):
        last = match[1]
    return None if last is None else _read(last)


def _read(text: str) -> Decimal | None:
    """None for what no float can hold: 1e400 is as good as no number."""
    if len(text) < PLAIN_DIGITS and text.isdecimal():
        return Decimal(text)
    plain = text.translate(DECORATION)
    if len(plain) > LONGEST_NUMBER or not math.isfinite(float(plain)):
        return None
    # A Decimal takes 1e-999999999 as it is, and writing that out would take a gigabyte.
    return Decimal(repr(float(plain))) if "e" in plain.lower() else Decimal(plain)


@lru_cache(maxsize=64)
def _as_written(tolerance: float) -> Decimal:
    return Decimal(str(tolerance))


def _ascii_minus(text: str) -> str:
    return text.replace("\N{MINUS SIGN}", "-")


def _plain(number: Decimal) -> str:
    shown = format(number, "f")
    return shown if len(shown) <= 30 else format(number, "e")[:40]
