"""A person's own scorer, written in the browser. It runs in a sandbox, never in our interpreter."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from workers.engine.errors import ScorerFailed
from workers.engine.providers.answers import clean_text
from workers.engine.records import Case, Judgement
from workers.engine.sandbox import call_function, problem_with_source
from workers.engine.scorers.base import Scorer, quote

FUNCTION = "score"
GIVES = "a number from 0 to 1, True or False, None (not scored), or a mapping with value and reason"
KEYS = ("value", "passed", "reason", "label")


class Code(Scorer):
    name: ClassVar[str] = "code"
    summary: ClassVar[str] = "Your own Python function judges the answer, in a sandbox."
    needs_expected: ClassVar[bool] = False
    is_written_code: ClassVar[bool] = True

    threshold: float = Field(
        default=0.5, ge=0, le=1, description="The lowest value with which an answer is right."
    )
    source: Annotated[str, Field(min_length=1, max_length=20_000)] = Field(
        description="Python with a function score(answer, expected, case). It gives a number from "
        "0 to 1, True or False, or {'value': 0.5, 'reason': 'why'}. It has no files or network, "
        "one second and 32 MB; re, json, math and datetime can be imported.",
    )

    @property
    def problem(self) -> str:
        return problem_with_source(self.source, FUNCTION)

    def steps(self, answer: str, case: Case) -> float:
        return math.inf

    def judge(self, answer: str, case: Case) -> Judgement:
        fields = {name: clean_text(text) for name, text in case.fields.items()}
        given = {
            "answer": clean_text(answer),
            "expected": fields.get(case.expected_column),
            "case": fields,
        }
        try:
            found = call_function(self.source, FUNCTION, given)
        except ScorerFailed as error:
            raise ScorerFailed(f"Your code could not judge the answer. {error}") from None
        return self._read(found)

    def _read(self, found: Any) -> Judgement:
        if found is None:
            return self.not_scored(f"{FUNCTION} gave None")
        if isinstance(found, bool):
            return self.verdict(found, f"{FUNCTION} gave {found}")
        if isinstance(found, Mapping):
            return self._read_mapping(found)
        value = self._value(found)
        return Judgement(self.own_name, value, value >= self.threshold, f"{FUNCTION} gave {found}")

    def _read_mapping(self, found: Mapping[Any, Any]) -> Judgement:
        unknown = [key for key in found if key not in KEYS]
        if unknown or "value" not in found:
            told = f"Your code gave the keys {', '.join(map(quote_key, found))}."
            raise ScorerFailed(f"{told} Known are {', '.join(KEYS)}; value is needed.")
        if found["value"] is None:
            return self.not_scored(str(found.get("reason", "")))
        value = self._value(found["value"])
        passed = bool(found.get("passed", value >= self.threshold))
        reason, label = (str(found.get(key, "")) for key in ("reason", "label"))
        return Judgement(self.own_name, value, passed, reason, label)

    def _value(self, found: Any) -> float:
        if isinstance(found, int | float) and 0 <= found <= 1:
            return float(found)
        is_short = isinstance(found, int | float | str)
        told = quote(str(found)) if is_short else f"a {type(found).__name__}"
        raise ScorerFailed(f"Your code gave {told}. It must give {GIVES}.")


def quote_key(key: Any) -> str:
    return quote(str(key))
