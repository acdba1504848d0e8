"""Finds the rows of a slice: where, then split, then sample, then first, in the dataset's order.

Rows are drawn by digests of what they hold, never by a random generator: the same rows on every
machine and with every version of Python, and mostly the same ones when a dataset grows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.json_text import to_json
from workers.engine.spec.dataset_choice import Condition, DatasetChoice, Split

MOST_VALUES = 10  # of a column, named in an error
LONGEST_VALUE = 60  # characters of one
SCALE = 2**48  # exact as a float


class Found(NamedTuple):
    position: int
    key: bytes  # equal rows have equal keys


def slice_rows(
    choice: DatasetChoice, run_seed: int, columns: Sequence[str], rows: Iterable[Mapping[str, str]]
) -> list[int]:
    """The positions of the rows, ascending. ConfigurationError if the slice cannot be cut."""
    conditions = choice.conditions
    refuse_unknown(conditions, columns)
    found = matching(conditions, rows)
    if not found:
        raise problem("where", "No row has all of these values together. Leave a column out.")
    if choice.split:
        matched = len(found)
        found = [one for one in found if part_of(choice.split, one.key) == choice.split.part]
        if not found:
            told = f"Part {choice.split.part!r} has none of the {counted(matched)}. Choose another."
            raise problem("split", told)
    if choice.sample:
        seed = run_seed if choice.seed is None else choice.seed
        found = sample(found, choice.sample, seed)
    return [one.position for one in found[: choice.first]]


def refuse_unknown(conditions: Iterable[Condition], columns: Sequence[str]) -> None:
    problems = [
        Problem(
            "dataset.where",
            f"There is no column {condition.column!r}. The columns are: {', '.join(columns)}.",
        )
        for condition in conditions
        if condition.column not in columns
    ]
    if problems:
        raise ConfigurationError(problems)


class Seen:
    """Which of the wanted values occur in a column, and some that do."""

    def __init__(self, condition: Condition) -> None:
        self.column = condition.column
        self.missing = set(condition.values)
        self.some: dict[str, None] = {}

    def note(self, row: Mapping[str, str]) -> None:
        value = row.get(self.column, "")
        self.missing.discard(value)
        if len(self.some) < MOST_VALUES:
            self.some[value] = None

    def problems(self) -> list[Problem]:
        there = ", ".join(shown(value) for value in self.some)
        return [
            Problem(
                "dataset.where",
                f"No row has {shown(value)} in the column {self.column!r}. Among what there is: "
                f"{there}.",
            )
            for value in sorted(self.missing)
        ]


def matching(conditions: Sequence[Condition], rows: Iterable[Mapping[str, str]]) -> list[Found]:
    seen = [Seen(condition) for condition in conditions]
    found = []
    for position, row in enumerate(rows):
        for column in seen:
            column.note(row)
        if all(condition.admits(row) for condition in conditions):
            found.append(Found(position, sha256(to_json(row)).digest()))
    if problems := [one for column in seen for one in column.problems()]:
        raise ConfigurationError(problems)
    return found


def part_of(split: Split, key: bytes) -> str:
    """Equal rows are in the same part: nobody is tested on what they were trained on. By the names'
    order, since a database keeps no order of a mapping's keys."""
    drawn = sha256(b"split:%d:" % split.seed + key).digest()
    place = int.from_bytes(drawn[:6], "big") / SCALE
    *others, last = sorted(split.of)
    for name in others:
        place -= split.of[name]
        if place < 0:
            return name
    return last


def sample(found: Sequence[Found], size: int, seed: int) -> list[Found]:
    if size > len(found):
        told = f"A sample of {size:,} cannot be drawn from {counted(len(found))}. Ask for fewer."
        raise problem("sample", told)
    times: Counter[bytes] = Counter()
    draws = []
    for one in found:
        times[one.key] += 1  # the second of two equal rows is drawn by itself
        draws.append((sha256(b"sample:%d:%d:" % (seed, times[one.key]) + one.key).digest(), one))
    draws.sort(key=lambda draw: (draw[0], draw[1].position))
    return sorted((one for _, one in draws[:size]), key=lambda one: one.position)


def counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def shown(value: str) -> str:
    text = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
    return repr(text)


def problem(field: str, told: str) -> ConfigurationError:
    return ConfigurationError([Problem(f"dataset.{field}", told)])
