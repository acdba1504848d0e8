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

from workers.engine.json_text import to_json
from workers.engine.spec.model_choice import Name, Strict, also_written
from workers.engine.spec.parts import NotSwitch, Seed

LONGEST_DATASET = 140  # characters: those of a name, and @ with a version
USUAL_PARTS = {"train": 0.8, "test": 0.2}
SLICE = ("where", "split", "sample", "seed", "first")

_VALUE = {"type": ["string", "number", "boolean"]}
_VALUES = {"anyOf": [_VALUE, {"type": "array", "items": _VALUE, "minItems": 1}]}
_NOT = {
    "type": "object",
    "properties": {"not": _VALUES},
    "required": ["not"],
    "additionalProperties": False,
}
_WHERE_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"anyOf": [*_VALUES["anyOf"], _NOT]},
}

RowCount = Annotated[int, Field(ge=1, le=1_000_000_000), NotSwitch]
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
    """Values as texts, each alone, in a list, or under `not`."""
    if where is None:
        return None
    if not isinstance(where, Mapping) or not where:
        raise ValueError("Give columns with values, as in {subject: algebra, level: [1, 2]}.")
    return {str(column): read_condition(given) for column, given in where.items()}


def read_condition(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return read_values(given)
    if list(given) != ["not"]:
        raise ValueError("Write {not: value} for the rows that have another value.")
    return {"not": read_values(given["not"])}


class Condition(NamedTuple):
    """What a row must have in one column."""

    column: str
    values: list[str]
    is_not: bool

    def admits(self, row: Mapping[str, str]) -> bool:
        return (row.get(self.column) in self.values) != self.is_not

    def __str__(self) -> str:
        verb = "is not" if self.is_not else "is"
        return f"{self.column} {verb} {' or '.join(self.values)}"


class Split(Strict):
    """One of the parts into which all rows fall, written as its name alone for train and test."""

    model_config = ConfigDict(json_schema_extra=also_written({"enum": list(USUAL_PARTS)}))

    part: Name = Field(description="The part to run on.")
    of: Annotated[dict[Name, Share], Field(min_length=2, max_length=20)] = Field(
        USUAL_PARTS,
        description="Every part with its share of the rows; together 1. Not given: {train: 0.8, "
        "test: 0.2}.",
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
    def check_sum(cls, of: dict[str, float]) -> dict[str, float]:
        if not isclose(total := sum(of.values()), 1, abs_tol=1e-6):
            raise ValueError(f"The shares make {total:g} together. They must make 1.")
        return of

    @model_validator(mode="after")
    def check_part(self) -> Self:
        if self.part not in self.of:
            raise ValueError(
                f"There is no part {self.part!r}. Choose one of: {', '.join(self.of)}; or list "
                "the parts with their shares under `of`."
            )
        return self


class DatasetChoice(Strict):
    """A stored dataset by name (its newest version, or `name@3`), or rows given in place; all of
    them, or a slice. The fields of a slice apply in this order: where, split, sample, first. The
    rows stay in the order of the dataset."""

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
    where: (
        Annotated[dict[str, Any], BeforeValidator(read_where), WithJsonSchema(_WHERE_SCHEMA)] | None
    ) = Field(
        None,
        description="Only rows with these values, as in {subject: algebra, level: [1, 2], source: "
        "{not: web}}. Compared as texts; all columns must fit.",
    )
    split: Split | None = Field(
        None,
        description="Only one part of the rows, as in train or test. Which part a row is in "
        "depends on the row alone, so it stays there in later versions of the dataset.",
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
        return bool(self.where or self.split or self.sample)

    def slice_document(self) -> dict[str, Any]:
        """What it says of a slice, as a document writes it."""
        return self.model_dump(include=set(SLICE), exclude_none=True)

    def slice_text(self, run_seed: int) -> str:
        """In words; empty: all rows."""
        words = [f"where {condition}" for condition in self.conditions]
        if self.split:
            words.append(f"part {self.split.part} (seed {self.split.seed})")
        if self.sample:
            words.append(f"a sample (seed {run_seed if self.seed is None else self.seed})")
        if self.first:
            words.append("the first")
        return ", ".join(words)


def condition_of(column: str, given: Any) -> Condition:
    is_not = isinstance(given, dict)
    values = given["not"] if is_not else given
    listed = values if isinstance(values, list) else [values]
    return Condition(column, listed, is_not)
