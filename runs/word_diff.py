"""Compares two texts word by word, for people who read what changed in an answer.

Bounded in time and size whatever the texts are: the comparison is in C++ and needs at most
`MOST_WORDS` squared bits.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from rapidfuzz.distance import LCSseq

MOST_WORDS = 2_000  # of each text; more is too long to read, and too large for a page
LONGEST_WORD = 100  # characters; a longer one, or a longer gap, is compared in pieces

# Scripts without spaces are compared character by character, everything else by words.
_EAST_ASIAN = r"\u2e80-\u9fff\uf900-\ufaff"
_SPACE = rf"\s{{1,{LONGEST_WORD}}}"
_WORD = rf"[{_EAST_ASIAN}]|[^\W{_EAST_ASIAN}]{{1,{LONGEST_WORD}}}"
_WORDS = re.compile(rf"{_SPACE}|{_WORD}|[^\w\s]")

Change = Literal["same", "gone", "new"]


class Part(NamedTuple):
    change: Change
    text: str


@dataclass(frozen=True, slots=True)
class WordDiff:
    parts: list[Part]
    is_cut: bool  # only the first MOST_WORDS words of each text were compared
    most_words: int = MOST_WORDS

    @property
    def is_same(self) -> bool:
        return not self.is_cut and all(part.change == "same" for part in self.parts)


class _Words(NamedTuple):
    words: list[str]
    is_cut: bool


def diff_words(before: str, after: str) -> WordDiff:
    """What of `before` is gone in `after`, and what is new, in reading order."""
    old, new = _split(before), _split(after)
    parts: list[Part] = []
    for step in LCSseq.opcodes(old.words, new.words):
        if step.tag == "equal":
            parts.append(Part("same", "".join(old.words[step.src_start : step.src_end])))
            continue
        if step.src_end > step.src_start:
            parts.append(Part("gone", "".join(old.words[step.src_start : step.src_end])))
        if step.dest_end > step.dest_start:
            parts.append(Part("new", "".join(new.words[step.dest_start : step.dest_end])))
    return WordDiff(_in_phrases(parts), old.is_cut or new.is_cut)


def _split(text: str) -> _Words:
    """Words, spaces and signs in order, so that together they are the text again."""
    most = MOST_WORDS * 2  # a space follows most words
    found = [match.group() for match in islice(_WORDS.finditer(text), most + 1)]
    return _Words(found[:most], len(found) > most)


def _in_phrases(parts: list[Part]) -> list[Part]:
    """A space alone between two changes reads as part of the change: whole phrases are marked, not
    every word of them. What is gone stands before what is new."""
    merged: list[Part] = []
    gone = new = ""
    for index, (change, text) in enumerate(parts):
        if change == "gone":
            gone += text
        elif change == "new":
            new += text
        elif gone and new and text.isspace() and index + 1 < len(parts):
            gone += text
            new += text
        else:
            merged += _changes(gone, new)
            merged.append(Part("same", text))
            gone = new = ""
    return merged + _changes(gone, new)


def _changes(gone: str, new: str) -> list[Part]:
    return [*([Part("gone", gone)] if gone else []), *([Part("new", new)] if new else [])]
