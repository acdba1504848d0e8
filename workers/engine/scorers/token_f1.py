"""How many words answer and expected text share, as in SQuAD."""

import re
from collections import Counter
from typing import ClassVar

from workers.engine.records import Case
from workers.engine.scorers.closeness import Closeness

STEPS_PER_CHARACTER = 10
WORDS = re.compile(r"\w+")
ARTICLES = frozenset({"a", "an", "the"})


class TokenF1(Closeness):
    name: ClassVar[str] = "token_f1"
    summary: ClassVar[str] = (
        "How many words answer and expected text share (F1, as in SQuAD), in any order."
    )
    measured: ClassVar[str] = "F1"

    def steps(self, answer: str, case: Case) -> float:
        return STEPS_PER_CHARACTER * (len(answer) + len(case.expected or ""))

    def closeness(self, answer: str, expected: str) -> float:
        one, other = Counter(words_of(answer)), Counter(words_of(expected))
        if not one or not other:
            return float(one == other)
        shared = (one & other).total()
        return 2 * shared / (one.total() + other.total())


def words_of(text: str) -> list[str]:
    return [word for word in WORDS.findall(text.casefold()) if word not in ARTICLES]
