"""A pattern is found in the answer. RE2 runs it, so that its time is at worst the size of the
pattern's program times the length of the text: both have a limit."""

from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import re2
from pydantic import Field, model_validator

from workers.engine.errors import ScorerFailed
from workers.engine.records import Case, Judgement
from workers.engine.scorers.base import Scorer, quote

LONGEST_PATTERN = 1_000  # characters; what a person writes is far shorter
LARGEST_PROGRAM = 10_000  # instructions: .{1000} has 8,000, most that people write below 100
PROGRAM_MEMORY = 256 * 1024  # bytes: room for little more, so that compiling ends within 5 ms
SEARCH_MEMORY = 2 * 1024 * 1024  # bytes, for the automaton that makes most searches quick
MOST_GROUPS = 50  # where each of them is, is copied at every step
LONGEST_TEXT = 100_000  # characters of an answer that are searched
PATTERNS_KEPT = 128  # compiled patterns of a dataset that brings one per case

SYNTAX = "Use RE2 syntax, which has no look-around and no back-references."
HOW_TO_SHRINK = "Make counted repeats smaller, such as {10} for {1000}, or write * or +."
TOO_LARGE = "pattern too large"  # as RE2 says it


class PatternError(ValueError):
    """RE2 does not accept the pattern."""


class Compiled(NamedTuple):
    """A pattern ready for use."""

    regexp: Any
    steps_per_byte: int
    """At the worst: every instruction is tried at every byte of a text, and one that opens or
    closes a group copies where all groups are."""
    problem: str  # why it may not be used: it would take too long; empty: it may


class Regex(Scorer):
    name: ClassVar[str] = "regex"
    summary: ClassVar[str] = (
        "A regular expression matches somewhere in the answer. If it has a group, the text in it "
        "is the expected text."
    )
    needs_expected: ClassVar[bool] = False  # without one, finding the pattern is enough
    compares_answers: ClassVar[bool] = False

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

    @property
    def problem(self) -> str:
        return compiled(self.pattern, self.ignore_case).problem if self.pattern else ""

    def steps(self, answer: str, case: Case) -> float:
        return self._pattern_for(case).steps_per_byte * count_bytes(searched(answer))

    def judge(self, answer: str, case: Case) -> Judgement:
        pattern, text = self._pattern_for(case).regexp, searched(answer)
        match = pattern.search(text)
        where = ""
        if len(text) < len(answer):
            where = f" (of {len(answer):,} characters the first {len(text):,} were searched)"
        if match is None:
            return self.verdict(False, f"the pattern was not found in {quote(answer)}{where}")
        if not pattern.groups or case.expected is None:
            return self.verdict(True, f"found {quote(match[0])}{where}")
        found, expected = (match[1] or "").strip(), case.expected.strip()
        if self._normal(found) == self._normal(expected):
            return self.verdict(True, f"found {quote(found)}{where}")
        return self.verdict(False, f"expected {quote(expected)}, found {quote(found)}{where}")

    def _pattern_for(self, case: Case) -> Compiled:
        pattern = self.pattern or case.fields.get(self.pattern_field, "")
        if not pattern:
            raise ScorerFailed(
                f"Case {case.position} has no pattern in the field {self.pattern_field!r}. "
                f"Its fields are: {', '.join(sorted(case.fields))}."
            )
        try:
            found = compiled(pattern, self.ignore_case)
        except PatternError as error:
            raise ScorerFailed(f"Case {case.position}, {self.pattern_field!r}: {error}") from None
        if found.problem:
            where = "" if self.pattern else f"Case {case.position}, {self.pattern_field!r}: "
            raise ScorerFailed(where + found.problem)
        return found

    def _normal(self, text: str) -> str:
        return text.casefold() if self.ignore_case else text


def searched(answer: str) -> str:
    """RE2 reads UTF-8, which has no lone surrogates; a model's answer may."""
    text = answer[:LONGEST_TEXT]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


@lru_cache(maxsize=PATTERNS_KEPT)
def compiled(pattern: str, ignore_case: bool) -> Compiled:
    """A clear message if RE2 does not accept it."""
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"The pattern is longer than {LONGEST_PATTERN} characters. Shorten it.")
    try:
        tried = compile_within(PROGRAM_MEMORY, pattern, ignore_case)
        if problem := size_problem(tried):
            return Compiled(tried, 0, problem)
        regexp = compile_within(SEARCH_MEMORY, pattern, ignore_case)
    except UnicodeEncodeError:
        raise PatternError("The pattern is not valid text: it holds a lone surrogate.") from None
    except re2.error as error:
        detail = error.args[0]
        reason = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        if TOO_LARGE in reason:
            return Compiled(None, 0, too_large(pattern))
        told = f"The pattern {quote(pattern)} is not accepted: {reason}. {SYNTAX}"
        raise PatternError(told) from None
    return Compiled(regexp, regexp.programsize + regexp.groups**2, "")


def compile_within(memory: int, pattern: str, ignore_case: bool) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    options.case_sensitive = not ignore_case
    return re2.compile(pattern, options)


def size_problem(regexp: Any) -> str:
    if regexp.programsize > LARGEST_PROGRAM:
        return too_large(regexp.pattern)
    if regexp.groups > MOST_GROUPS:
        return (
            f"The pattern {quote(regexp.pattern)} has {regexp.groups} groups. Allowed: "
            f"{MOST_GROUPS}. Write (?:...) for those whose text is not compared."
        )
    return ""


def too_large(pattern: str) -> str:
    return (
        f"The pattern {quote(pattern)} is too large: RE2 makes a program of more than "
        f"{LARGEST_PROGRAM:,} instructions of it. {HOW_TO_SHRINK}"
    )
