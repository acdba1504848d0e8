"""Which cases a configuration asks for: a stored dataset or rows in place, all or a slice."""

from collections.abc import Mapping
from math import isclose
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.json_text import to_json
from workers.engine.spec.model_choice import Name, Strict, also_written
from workers.engine.spec.parts import NotSwitch, Seed
from workers.engine.spec.tags import tags_in

LONGEST_DATASET = 140  # characters: those of a name, and @ with a version
USUAL_PARTS = {"train": 0.8, "test": 0.2}
SLICE = ("only", "where", "split", "sample", "seed", "first")
MOST_NAMED = 50_000  # rows by number; a document stays small

_VALUE = {"type": ["string", "number", "boolean"]}
_VALUES = {"anyOf": [_VALUE, {"type": "array", "items": _VALUE, "minItems": 1}]}
_VERBS = {"not": "is not", "has": "has", "lacks": "lacks"}
_WITH_VERB = [
    {
        "type": "object",
        "properties": {verb: _VALUES},
        "required": [verb],
        "additionalProperties": False,
    }
    for verb in _VERBS
]
_WHERE_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"anyOf": [*_VALUES["anyOf"], *_WITH_VERB]},
}

RowCount = Annotated[int, Field(ge=1, le=1_000_000_000), NotSwitch]
RowNumber = Annotated[int, Field(ge=0, le=1_000_000_000), NotSwitch]
Share = Annotated[float, Field(gt=0, lt=1), NotSwitch]


def value_text(value: Any) -> str:
    """As an import stores it: all values of a dataset are texts."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError(f"A value is a text or a number, not {to_json(value).decode()[:60]}.")


def read_values(value: Any) -> str | list[str]:
    if not isinstance(value, list):
        return value_text(value)
    if not value:
        raise ValueError("The list of values is empty. Give at least one.")
    return [value_text(one) for one in value]


def read_where(where: Any) -> Any:
    """Values as texts, each alone, in a list, or under `not`, `has` or `lacks`."""
    if where is None:
        return None
    if not isinstance(where, Mapping) or not where:
        raise ValueError("Give columns with values, as in {subject: algebra, level: [1, 2]}.")
    return {str(column): read_condition(given) for column, given in where.items()}


def read_condition(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return read_values(given)
    verb = next(iter(given), None)
    if len(given) != 1 or verb not in _VERBS:
        raise ValueError(
            "Write {not: value} for the rows that have another value, {has: tag} or {lacks: tag} "
            "for those with or without a tag."
        )
    return {verb: read_values(given[verb])}


class Condition(NamedTuple):
    """What a row must have in one column."""

    column: str
    values: list[str]
    verb: str = ""  # empty: is one of the values

    def admits(self, row: Mapping[str, str]) -> bool:
        there = self.values_in(row)
        return any(value in there for value in self.values) != (self.verb in ("not", "lacks"))

    def values_in(self, row: Mapping[str, str]) -> list[str]:
        """The cell's text, or its tags if the condition is about tags."""
        cell = row.get(self.column, "")
        return tags_in(cell) if self.verb in ("has", "lacks") else [cell]

    def __str__(self) -> str:
        return f"{self.column} {_VERBS.get(self.verb, 'is')} {' or '.join(self.values)}"


class Split(Strict):
    """One of the parts into which all rows fall, written as its name alone. Parts are the values of
    the dataset's split column; without one, train and test by share, or those listed in `of`."""

    model_config = ConfigDict(json_schema_extra=also_written({"type": "string", "minLength": 1}))

    part: Name = Field(description="The part to run on.")
    column: Annotated[str, Field(min_length=1, max_length=100)] | None = Field(
        None, description="The column that names each row's part. Not given: the dataset's split "
        "column, unless `of` is given."
    )  # fmt: skip
    of: Annotated[dict[Name, Share], Field(min_length=2, max_length=20)] | None = Field(
        None,
        description="Every part with its share of the rows; together 1. Not given, and no column: "
        "{train: 0.8, test: 0.2}.",
    )
    seed: Seed = Field(
        0, description="Another seed parts the rows otherwise. It is not the run's seed: runs on "
        "several parts must agree on them."
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        return {"part": value} if isinstance(value, str) else value

    @field_validator("of")
    @classmethod
    def check_sum(cls, of: dict[str, float] | None) -> dict[str, float] | None:
        if of and not isclose(total := sum(of.values()), 1, abs_tol=1e-6):
            raise ValueError(f"The shares make {total:g} together. They must make 1.")
        return of

    @model_validator(mode="after")
    def check_part(self) -> Self:
        if self.of and self.column:
            raise ValueError("Give `of` or `column`: parts are by share or by column.")
        if self.of and self.part not in self.of:
            raise ValueError(no_part(self.part, self.of))
        return self

    def settled(self, split_column: str) -> "Split":
        """With what it leaves open: `split_column` is the dataset's, empty if it has none.
        ValueError if there is no such part."""
        if self.of or self.column:
            return self
        if split_column:
            return self.model_copy(update={"column": split_column})
        if self.part not in USUAL_PARTS:
            raise ValueError(no_part(self.part, USUAL_PARTS))
        return self.model_copy(update={"of": USUAL_PARTS})

    def __str__(self) -> str:
        return f"part {self.part} ({self.column or f'seed {self.seed}'})"


def no_part(part: str, of: Mapping[str, float]) -> str:
    return (
        f"There is no part {part!r}. Choose one of: {', '.join(of)}; or list the parts with their "
        "shares under `of`, or name the `column` that has them."
    )


class DatasetChoice(Strict):
    """A stored dataset by name (its newest version, or `name@3`), or rows given in place; all of
    them, or a slice. The fields of a slice apply in this order: only, where, split, sample, first.
    The rows stay in the order of the dataset."""

    model_config = ConfigDict(
        json_schema_extra=also_written(
            {"type": "string", "minLength": 1, "maxLength": LONGEST_DATASET}
        )
    )

    name: Annotated[str, Field(min_length=1, max_length=LONGEST_DATASET)] | None = Field(
        None, description="A stored dataset: its newest version, or name@3."
    )
    rows: Annotated[list[dict[str, str]], Field(min_length=1, max_length=100_000)] | None = Field(
        None, description="The cases themselves, each with the same columns. All values are texts."
    )
    only: Annotated[list[RowNumber], Field(min_length=1, max_length=MOST_NAMED)] | None = Field(
        None,
        description="Only these rows, by their numbers from 0, as results name their cases. A "
        "rerun of some trials is on their rows.",
    )
    where: (
        Annotated[dict[str, Any], BeforeValidator(read_where), WithJsonSchema(_WHERE_SCHEMA)] | None
    ) = Field(
        None,
        description="Only rows with these values, as in {subject: algebra, level: [1, 2], source: "
        "{not: web}, tags: {has: hard}}. Compared as texts; all columns must fit. `has` and "
        "`lacks` look for a tag among several in a cell.",
    )
    split: Split | None = Field(
        None,
        description="Only one part of the rows, as in train or test. Which part a row is in "
        "depends on the row alone, or on its split column: it stays there in later versions.",
    )
    sample: RowCount | None = Field(None, description="Only so many rows, drawn by `seed`.")
    seed: Seed | None = Field(
        None, description="Draws the sample. Not given: the run's seed. The same seed draws the "
        "same rows everywhere."
    )  # fmt: skip
    first: RowCount | None = Field(
        None, description="Only the first so many rows. All, if there are no more."
    )

    @model_validator(mode="before")
    @classmethod
    def read_short_form(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def check_parts(self) -> Self:
        if (self.name is None) == (self.rows is None):
            raise ValueError("Name a stored dataset or give rows: one of the two.")
        if self.seed is not None and self.sample is None:
            raise ValueError("A seed draws a sample, and none is asked for. Give `sample`, too.")
        return self

    @property
    def conditions(self) -> list[Condition]:
        return [condition_of(column, given) for column, given in (self.where or {}).items()]

    @property
    def must_be_read(self) -> bool:
        """Whether the rows themselves decide which of them are taken, and not their number."""
        return bool(self.only or self.where or self.split or self.sample)

    def settled(self, split_column: str) -> "DatasetChoice":
        """With its split as the dataset has it. ConfigurationError if it has no such part."""
        if self.split is None:
            return self
        try:
            return self.model_copy(update={"split": self.split.settled(split_column)})
        except ValueError as error:
            raise ConfigurationError([Problem("dataset.split", str(error))]) from None

    def slice_document(self) -> dict[str, Any]:
        """What it says of a slice, as a document writes it."""
        return self.model_dump(include=set(SLICE), exclude_none=True)

    def slice_text(self, run_seed: int) -> str:
        """In words; empty: all rows."""
        words = ["chosen by number"] if self.only else []
        words += [f"where {condition}" for condition in self.conditions]
        if self.split:
            words.append(str(self.split))
        if self.sample:
            words.append(f"a sample (seed {run_seed if self.seed is None else self.seed})")
        if self.first:
            words.append("the first")
        return ", ".join(words)


def condition_of(column: str, given: Any) -> Condition:
    verb, values = next(iter(given.items())) if isinstance(given, dict) else ("", given)
    return Condition(column, values if isinstance(values, list) else [values], verb)
