"""ROUGE-L: the longest sequence of words that answer and expected text share, in their order."""

import re
from typing import ClassVar

from rapidfuzz.distance import LCSseq

from workers.engine.records import Case
from workers.engine.scorers.closeness.base import LONGEST_COMPARED, Closeness

WORDS_AT_ONCE = 64  # that the library compares in one step
STEPS_PER_CHARACTER = 10
WORDS = re.compile(r"[a-z0-9]+")  # as Google's rouge_score reads them, without stemming


class RougeL(Closeness):
    name: ClassVar[str] = "rouge_l"
    label: ClassVar[str] = "ROUGE-L"
    summary: ClassVar[str] = (
        "How long a sequence of words answer and expected text share, in their order."
    )
    measured: ClassVar[str] = "ROUGE-L"

    def steps(self, answer: str, case: Case) -> float:
        one, other = (min(len(t), LONGEST_COMPARED) for t in (answer, case.expected or ""))
        return STEPS_PER_CHARACTER * (one + other) + one * other / 4 / WORDS_AT_ONCE

    def closeness(self, answer: str, expected: str) -> float:
        one, other = WORDS.findall(answer.lower()), WORDS.findall(expected.lower())
        if not one or not other:
            return 0.0
        shared = LCSseq.similarity(one, other)
        return 2 * shared / (len(one) + len(other))
