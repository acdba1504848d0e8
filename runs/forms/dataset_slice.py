"""Which rows of the dataset, in the new-run form: what was typed, and the document of it."""

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text, number_text
from workers.engine.errors import ConfigurationError
from workers.engine.spec.dataset_choice import USUAL_PARTS, DatasetChoice
from workers.engine.spec.documents import read_document, write_line

FIELDS = {
    "where": ("id_where", "Only rows with"),
    "split": ("id_split", "Part"),
    "sample": ("id_sample", "Sample"),
    "seed": ("id_sample_seed", "Seed of the sample"),
    "first": ("id_first", "First rows"),
}
HELP = {
    "where": "One column a line, as in subject: algebra or level: [1, 2]. All must fit.",
    "where_example": "subject: algebra",
    "split": "Each row stays in its part, also in later versions of the dataset.",
    "sample": "So many rows, drawn by the seed. Blank: no sample.",
    "seed": "Blank: the run's seed.",
    "first": "The first so many. Blank: all of them.",
}


@dataclass(slots=True)
class SliceInput:
    where: str = ""
    split: str = ""
    sample: str = ""
    seed: str = ""
    first: str = ""

    @property
    def is_given(self) -> bool:
        """Of what stands folded away."""
        return bool(self.where.strip() or self.split or self.sample or self.seed)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """To choose from, each with its label; other parts are for the YAML view."""
        return [(name, f"{name} ({share:.0%} of the rows)") for name, share in USUAL_PARTS.items()]

    def document(self) -> dict[str, Any]:
        """What the schema judges; nothing of what was left blank."""
        given = {
            "where": read_conditions(self.where),
            "split": self.split,
            "sample": number_or_text(self.sample),
            "seed": number_or_text(self.seed),
            "first": number_or_text(self.first),
        }
        return {name: value for name, value in given.items() if value != ""}


def read_conditions(text: str) -> Any:
    """What cannot be read stays as it is: the schema says how to write it."""
    try:
        return read_document(text) if text.strip() else ""
    except ConfigurationError:
        return text


def read_slice(post: QueryDict) -> SliceInput:
    return SliceInput(
        where=post.get("where", ""),
        split=post.get("split", ""),
        sample=post.get("sample", "").strip(),
        seed=post.get("sample_seed", "").strip(),
        first=post.get("first", "").strip(),
    )


def slice_input_of(choice: DatasetChoice | None) -> SliceInput:
    if choice is None:
        return SliceInput()
    return SliceInput(
        where="\n".join(
            write_line(column, given) for column, given in (choice.where or {}).items()
        ),
        split=choice.split.part if choice.split else "",
        sample=number_text(choice.sample),
        seed=number_text(choice.seed),
        first=number_text(choice.first),
    )
