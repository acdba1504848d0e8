"""Finds the rows of a slice: only, then where, then split, then sample, then first, in the order of
the dataset.

Rows are drawn by digests of what they hold, never by a random generator: the same rows on every
machine and with every version of Python, and mostly the same ones when a dataset grows.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.json_text import to_json
from workers.engine.spec.dataset_choice import USUAL_PARTS, Condition, DatasetChoice, Split

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
    split = choice.settled(guess_split(columns)).split
    conditions = [Sought(condition, "where") for condition in choice.conditions]
    if split and split.column:
        conditions.append(Sought(Condition(split.column, [split.part]), "split"))
    refuse_unknown(conditions, columns)
    found = matching(conditions, rows, choice.only)
    if not found:
        raise problem("where", "No row has all of these values together. Leave a column out.")
    if split and split.of:
        matched = len(found)
        found = [one for one in found if part_of(split, one.key) == split.part]
        if not found:
            told = f"Part {split.part!r} has none of the {counted(matched)}. Choose another."
            raise problem("split", told)
    if choice.sample:
        seed = run_seed if choice.seed is None else choice.seed
        found = sample(found, choice.sample, seed)
    return [one.position for one in found[: choice.first]]


class Sought(NamedTuple):
    condition: Condition
    field: str  # of the choice that asks for it


def guess_split(columns: Sequence[str]) -> str:
    """Of rows that nobody said anything of: the column of that name; empty if there is none."""
    return "split" if "split" in columns else ""


def refuse_unknown(sought: Iterable[Sought], columns: Sequence[str]) -> None:
    problems = [
        Problem(
            f"dataset.{field}",
            f"There is no column {condition.column!r}. The columns are: {', '.join(columns)}.",
        )
        for condition, field in sought
        if condition.column not in columns
    ]
    if problems:
        raise ConfigurationError(problems)


class Seen:
    """Which of the wanted values occur in a column, and some that do."""

    def __init__(self, sought: Sought) -> None:
        self.condition, self.field = sought
        self.missing = set(self.condition.values)
        self.some: dict[str, None] = {}

    def note(self, row: Mapping[str, str]) -> None:
        for value in self.condition.values_in(row):
            self.missing.discard(value)
            if len(self.some) < MOST_VALUES:
                self.some[value] = None

    def problems(self) -> list[Problem]:
        there = ", ".join(shown(value) for value in self.some)
        return [
            Problem(
                f"dataset.{self.field}",
                f"No row has {shown(value)} in the column {self.condition.column!r}. Among what "
                f"there is: {there}.",
            )
            for value in sorted(self.missing)
        ]


def matching(
    sought: Sequence[Sought], rows: Iterable[Mapping[str, str]], only: Sequence[int] | None
) -> list[Found]:
    seen = [Seen(one) for one in sought]
    conditions = [condition for condition, _ in sought]
    wanted = None if only is None else set(only)
    found = []
    position = -1
    for position, row in enumerate(rows):
        if wanted is not None and position not in wanted:
            continue
        for column in seen:
            column.note(row)
        if all(condition.admits(row) for condition in conditions):
            found.append(Found(position, key_of(row)))
    if wanted and (last := max(wanted)) > position:
        told = f"There is no row {last}: the dataset has rows 0 to {position}."
        raise problem("only", told)
    if problems := [one for column in seen for one in column.problems()]:
        raise ConfigurationError(problems)
    return found


def key_of(row: Mapping[str, str]) -> bytes:
    return sha256(to_json(row)).digest()


def part_of(split: Split, key: bytes) -> str:
    """Equal rows are in the same part: nobody is tested on what they were trained on. By the names'
    order, since a database keeps no order of a mapping's keys."""
    shares = split.of or USUAL_PARTS
    drawn = sha256(b"split:%d:" % split.seed + key).digest()
    place = int.from_bytes(drawn[:6], "big") / SCALE
    *others, last = sorted(shares)
    for name in others:
        place -= shares[name]
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
