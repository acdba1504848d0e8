"""BLEU: how many short sequences of words the answer shares with the expected text."""

import math
from typing import ClassVar

from workers.engine.records import Case
from workers.engine.scorers.closeness import LONGEST_COMPARED, Closeness

STEPS_PER_CHARACTER = 200  # measured


class Bleu(Closeness):
    name: ClassVar[str] = "bleu"
    summary: ClassVar[str] = (
        "BLEU, as for translations: how many sequences of one to four words the answer shares with "
        "the expected text."
    )
    measured: ClassVar[str] = "BLEU"

    def steps(self, answer: str, case: Case) -> float:
        lengths = (min(len(text), LONGEST_COMPARED) for text in (answer, case.expected or ""))
        return STEPS_PER_CHARACTER * math.fsum(lengths)

    def closeness(self, answer: str, expected: str) -> float:
        from sacrebleu import sentence_bleu  # 0.3 s, which runs without this scorer do not pay

        found: float = sentence_bleu(answer, [expected]).score
        return found / 100
