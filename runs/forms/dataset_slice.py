"""Which rows of the dataset, in the new-run form: what was typed, and the document of it."""

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text, number_text
from workers.engine.errors import ConfigurationError
from workers.engine.spec.dataset_choice import USUAL_PARTS, DatasetChoice, Split
from workers.engine.spec.documents import read_document, write_line

FIELDS = {
    "only": ("id_only", "Rows by number"),
    "where": ("id_where", "Only rows with"),
    "split": ("id_split", "Part"),
    "sample": ("id_sample", "Sample"),
    "seed": ("id_sample_seed", "Seed of the sample"),
    "first": ("id_first", "First rows"),
}
HELP = {
    "only": "With commas between them, counted from 0 as in results. Blank: all of them.",
    "where": "One column a line, as in subject: algebra, level: [1, 2] or tags: {has: hard}. All "
    "must fit.",
    "where_example": "subject: algebra",
    "split": "train (80 %) or test (20 %), or a value of the dataset's split column. A value of "
    "another column: fold = 3. Blank: all rows.",
    "sample": "So many rows, drawn by the seed. Blank: no sample.",
    "seed": "Blank: the run's seed.",
    "first": "The first so many. Blank: all of them.",
}


@dataclass(slots=True)
class SliceInput:
    only: str = ""
    where: str = ""
    split: str = ""
    sample: str = ""
    seed: str = ""
    first: str = ""

    @property
    def is_given(self) -> bool:
        """Of what stands folded away."""
        return bool(self.only or self.where.strip() or self.split or self.sample or self.seed)

    @property
    def parts(self) -> list[str]:
        """Suggested; parts by other shares are for the YAML view."""
        return list(USUAL_PARTS)

    def document(self) -> dict[str, Any]:
        """What the schema judges; nothing of what was left blank."""
        given = {
            "only": read_numbers(self.only),
            "where": read_conditions(self.where),
            "split": split_document(self.split),
            "sample": number_or_text(self.sample),
            "seed": number_or_text(self.seed),
            "first": number_or_text(self.first),
        }
        return {name: value for name, value in given.items() if value != ""}


def split_document(text: str) -> Any:
    """Its part, or column and part."""
    column, equals, part = text.partition("=")
    return {"column": column.strip(), "part": part.strip()} if equals else text


def split_text(split: Split | None) -> str:
    if split is None:
        return ""
    return f"{split.column} = {split.part}" if split.column else split.part


def read_numbers(text: str) -> Any:
    """With commas between them; what is no number stays a text, which the schema refuses."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [number_or_text(part) for part in parts] or ""


def read_conditions(text: str) -> Any:
    """What cannot be read stays as it is: the schema says how to write it."""
    try:
        return read_document(text) if text.strip() else ""
    except ConfigurationError:
        return text


def read_slice(post: QueryDict) -> SliceInput:
    return SliceInput(
        only=post.get("only", "").strip(),
        where=post.get("where", ""),
        split=post.get("split", "").strip(),
        sample=post.get("sample", "").strip(),
        seed=post.get("sample_seed", "").strip(),
        first=post.get("first", "").strip(),
    )


def slice_input_of(choice: DatasetChoice | None) -> SliceInput:
    if choice is None:
        return SliceInput()
    return SliceInput(
        only=", ".join(map(str, choice.only or ())),
        where="\n".join(
            write_line(column, given) for column, given in (choice.where or {}).items()
        ),
        split=split_text(choice.split),
        sample=number_text(choice.sample),
        seed=number_text(choice.seed),
        first=number_text(choice.first),
    )
