"""BLEU: how many short sequences of words the answer shares with the expected text.

As sacrebleu gives it for one sentence, which tests compare with. The library itself takes five
times as long, and keeps 65,536 texts in memory, however long they are.
"""

import math
import re
from typing import ClassVar

from workers.engine.records import Case
from workers.engine.scorers.closeness.base import LONGEST_COMPARED, Closeness, count_common

STEPS_PER_CHARACTER = 200  # measured, of nothing but marks
LONGEST_SEQUENCE = 4  # words
# The tokenizer 13a of the shared tasks on translation: marks are words of their own.
ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
MARK = re.compile(r"([{-~\[-`!-&(-+:-@/])")
AFTER_NO_DIGIT = re.compile(r"([^0-9])([.,])")
BEFORE_NO_DIGIT = re.compile(r"([.,])([^0-9])")
DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")


class Bleu(Closeness):
    name: ClassVar[str] = "bleu"
    label: ClassVar[str] = "BLEU"
    summary: ClassVar[str] = (
        "As for translations: how many sequences of one to four words the answer shares with "
        "the expected text."
    )
    measured: ClassVar[str] = "BLEU"

    def steps(self, answer: str, case: Case) -> float:
        lengths = (min(len(text), LONGEST_COMPARED) for text in (answer, case.expected or ""))
        return STEPS_PER_CHARACTER * math.fsum(lengths)

    def closeness(self, answer: str, expected: str) -> float:
        given, wanted = words_of(answer), words_of(expected)
        shared = [count_common(given, wanted)]
        if not shared[0]:
            return 0.0
        for length in range(2, min(LONGEST_SEQUENCE, len(given)) + 1):
            # A sequence is shared only if its beginning is.
            shared.append(count_shared(given, wanted, length) if shared[-1] else 0)
        brevity = min(0.0, 1 - len(wanted) / len(given))
        return math.exp(brevity + math.fsum(logarithms(shared, len(given))) / len(shared))


def logarithms(shared: list[int], words: int) -> list[float]:
    """Of the share of sequences of each length. Where none is shared, it is taken for half a
    sequence, then for a quarter, and so on ("exp" smoothing)."""
    found, smoothing = [], 1.0
    for shorter, count in enumerate(shared):
        total = words - shorter
        if not count:
            smoothing *= 2
        found.append(math.log(count / total if count else 1 / (smoothing * total)))
    return found


def count_shared(given: list[str], wanted: list[str], length: int) -> int:
    """Each sequence at most as often as it is wanted."""
    if len(wanted) < length:
        return 0
    return count_common(sequences(given, length), sequences(wanted, length))


def sequences(words: list[str], length: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(length)), strict=False))


def words_of(text: str) -> list[str]:
    line = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    if "&" in line:
        for entity, mark in ENTITIES:
            line = line.replace(entity, mark)
    line = MARK.sub(r" \1 ", f" {line} ")
    if "." in line or "," in line:
        line = BEFORE_NO_DIGIT.sub(r" \1 \2", AFTER_NO_DIGIT.sub(r"\1 \2 ", line))
    if "-" in line:
        line = DASH_AFTER_DIGIT.sub(r"\1 \2 ", line)
    return line.split()
