"""A pattern is found in the answer. RE2 runs it, so no pattern can take more than linear time."""

from functools import lru_cache
from typing import Any, ClassVar, Self

import re2
from pydantic import Field, model_validator

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, quote

LONGEST_PATTERN = 1_000  # characters; what a person writes is far shorter
PATTERN_MEMORY = 2 * 1024 * 1024  # bytes; RE2 refuses what compiles to more
PATTERNS_KEPT = 128  # compiled patterns of a dataset that brings one per case


class PatternError(ValueError):
    """RE2 does not accept the pattern."""


class Regex(Scorer):
    name: ClassVar[str] = "regex"
    summary: ClassVar[str] = (
        "A regular expression matches somewhere in the answer. If it has a group, the text in it "
        "is the expected text."
    )
    needs_expected: ClassVar[bool] = False  # without one, finding the pattern is enough

    pattern: str = Field(
        default="",
        max_length=LONGEST_PATTERN,
        description=r"RE2 syntax, as in (?m)^Result: (\d+)$. Empty: the pattern field is used.",
    )
    pattern_field: str = Field(
        default="",
        max_length=200,
        description="The dataset column with the pattern, if each case has its own.",
    )
    ignore_case: bool = Field(default=False, description="Treat capitals and small letters alike.")

    @model_validator(mode="after")
    def _has_one_good_pattern(self) -> Self:
        if bool(self.pattern) == bool(self.pattern_field):
            raise ValueError("Give exactly one of pattern and pattern_field.")
        if self.pattern:
            compiled(self.pattern, self.ignore_case)
        return self

    def judge(self, answer: str, case: Case) -> Judgement:
        pattern = self._pattern_for(case)
        # RE2 reads UTF-8, which has no lone surrogates; a model's answer may.
        match = pattern.search(answer.encode("utf-8", "replace").decode())
        if match is None:
            return self.verdict(False, f"the pattern was not found in {quote(answer)}")
        if not pattern.groups or case.expected is None:
            return self.verdict(True, f"found {quote(match[0])}")
        found, expected = (match[1] or "").strip(), case.expected.strip()
        if self._normal(found) == self._normal(expected):
            return self.verdict(True, f"found {quote(found)}")
        return self.verdict(False, f"expected {quote(expected)}, found {quote(found)}")

    def _pattern_for(self, case: Case) -> Any:
        if self.pattern:
            return compiled(self.pattern, self.ignore_case)
        pattern = case.fields.get(self.pattern_field, "")
        if not pattern:
            raise ScorerFailed(
                f"Case {case.position} has no pattern in the field {self.pattern_field!r}. "
                f"Its fields are: {', '.join(sorted(case.fields))}."
            )
        try:
            return compiled(pattern, self.ignore_case)
        except PatternError as error:
            raise ScorerFailed(f"Case {case.position}, {self.pattern_field!r}: {error}") from None

    def _normal(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text


@lru_cache(maxsize=PATTERNS_KEPT)
def compiled(pattern: str, ignore_case: bool) -> Any:
    """The pattern ready for use; a clear message if RE2 does not accept it."""
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"The pattern is longer than {LONGEST_PATTERN} characters. Shorten it.")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        raise PatternError("The pattern is not valid text: it holds a lone surrogate.") from None
    except re2.error as error:
        detail = error.args[0]
        reason = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        raise PatternError(
            f"The pattern {quote(pattern)} is not accepted: {reason}. Use RE2 syntax, which has "
            "no look-around and no back-references."
        ) from None
