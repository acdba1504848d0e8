"""Rows of a dataset that ask the same: word for word, or but for case, spaces and punctuation."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import BaseModel

MOST_GROUPS = 50  # told; more are only counted
MOST_ROWS = 20  # numbers of one group
LONGEST_TEXT = 200  # characters of what a group asks

_BETWEEN_WORDS = re.compile(r"[\W_]+")
# Of most texts every letter is one byte: a table for them takes a tenth of the time.
_ASCII_WORDS = bytes(ord(chr(c).lower()) if chr(c).isalnum() else 32 for c in range(128)).ljust(256)


class Columns(NamedTuple):
    """Of a dataset, by what they are for; empty texts: there is none."""

    inputs: Sequence[str]
    expected: str = ""
    split: str = ""
    tags: str = ""


class DuplicateGroup(BaseModel):
    """Rows that ask the same, by their numbers from 1. `exact`: word for word. `answers`: how many
    different right answers they have. `splits`: the parts that they are in."""

    rows: list[int]
    count: int
    exact: bool
    answers: int
    splits: list[str]
    text: str


class Duplicates(BaseModel):
    """`exact_rows` and `near_rows` are those that could go. `contradictions` are groups with
    different right answers, `leaks` those in several parts of the split. `listed` has the worst
    groups first, and at most fifty."""

    groups: int
    exact_rows: int
    near_rows: int
    contradictions: int
    leaks: int
    listed: list[DuplicateGroup]


class _Row(NamedTuple):
    number: int
    asked: int
    answer: str
    split: str


@dataclass(slots=True)
class _Group:
    first: _Row
    text: str
    numbers: list[int] = field(default_factory=list)
    count: int = 0
    asked: set[int] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    splits: dict[str, None] = field(default_factory=dict)

    def add(self, row: _Row) -> None:
        self.count += 1
        self.asked.add(row.asked)
        self.answers.add(row.answer)
        self.splits[row.split] = None
        if len(self.numbers) < MOST_ROWS:
            self.numbers.append(row.number)

    def told(self) -> DuplicateGroup:
        return DuplicateGroup(
            rows=self.numbers,
            count=self.count,
            exact=len(self.asked) == 1,
            answers=len(self.answers),
            splits=[split for split in self.splits if split],
            text=self.text,
        )


class DuplicateFinder:
    """Told every row once; keeps some hundred bytes of each, never its text."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._first: dict[int, _Row] = {}
        self._groups: dict[int, _Group] = {}

    def note(self, number: int, fields: Mapping[str, str]) -> None:
        texts = [fields.get(column, "") for column in self._columns.inputs]
        row = _Row(
            number,
            mark_of(texts),
            plain_words(fields.get(self._columns.expected, "")),
            fields.get(self._columns.split, ""),
        )
        alike = mark_of(plain_words(text) or text for text in texts)
        first = self._first.setdefault(alike, row)
        if first is row:
            return
        if alike not in self._groups:
            self._groups[alike] = _Group(first, " · ".join(texts)[:LONGEST_TEXT])
            self._groups[alike].add(first)
        self._groups[alike].add(row)

    def found(self) -> Duplicates:
        groups = list(self._groups.values())
        worst = sorted(
            groups, key=lambda group: (len(group.answers) < 2, -group.count, group.first.number)
        )
        return Duplicates(
            groups=len(groups),
            exact_rows=sum(group.count - len(group.asked) for group in groups),
            near_rows=sum(len(group.asked) - 1 for group in groups),
            contradictions=sum(len(group.answers) > 1 for group in groups),
            leaks=sum(len(group.splits) > 1 for group in groups),
            listed=[group.told() for group in worst[:MOST_GROUPS]],
        )


def plain_words(text: str) -> str:
    """The same for texts that differ only in case, spaces and punctuation."""
    if text.isascii():
        return b" ".join(text.encode().translate(_ASCII_WORDS).split()).decode()
    plain = unicodedata.normalize("NFKC", text)
    return _BETWEEN_WORDS.sub(" ", plain.casefold()).strip()


def mark_of(texts: Iterable[str]) -> int:
    """Python's own 64 bits, keyed anew in every process: nobody can write texts that collide, and
    of 100,000 rows two do by chance once in three billion reports."""
    return hash(tuple(texts))
