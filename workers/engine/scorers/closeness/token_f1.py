"""How many words answer and expected text share, as in SQuAD."""

import re
from typing import ClassVar

from workers.engine.records import Case
from workers.engine.scorers.closeness.base import Closeness, count_common

STEPS_PER_CHARACTER = 10
WORDS = re.compile(r"\w+")
ARTICLES = frozenset({"a", "an", "the"})


class TokenF1(Closeness):
    name: ClassVar[str] = "token_f1"
    label: ClassVar[str] = "Token F1"
    summary: ClassVar[str] = (
        "How many words answer and expected text share (F1, as in SQuAD), in any order."
    )
    measured: ClassVar[str] = "F1"

    def steps(self, answer: str, case: Case) -> float:
        return STEPS_PER_CHARACTER * (len(answer) + len(case.expected or ""))

    def closeness(self, answer: str, expected: str) -> float:
        one, other = words_of(answer), words_of(expected)
        if not one or not other:
            return float(one == other)
        return 2 * count_common(one, other) / (len(one) + len(other))


def words_of(text: str) -> list[str]:
    return [word for word in WORDS.findall(text.casefold()) if word not in ARTICLES]
