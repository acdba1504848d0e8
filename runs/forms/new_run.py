"""The new-run form: keeps what was typed as it was typed, and turns it into a document.

It checks nothing itself. The document is judged by the one schema, whose problems are led back
to the fields by their paths, so that form, YAML, admin and REST always agree.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from runs.forms.advanced import AdvancedInput, read_advanced
from runs.forms.dataset_slice import SliceInput, read_slice
from runs.forms.limit_fields import LIMIT_FIELDS, FilledLimit, fill_limits
from runs.forms.model_parameters import (
    ParametersInput,
    number_or_text,
    number_text,
    read_parameters,
)
from runs.forms.options import (
    OptionField,
    default_texts,
    given_options,
    option_fields,
    posted_options,
)
from runs.kinds import every_kind
from runs.kinds.section import FormSection
from workers.engine.kinds import DEFAULT_KIND
from workers.engine.named import Description, describe_options
from workers.engine.scorers import SCORERS, BaseScorer
from workers.engine.spec.documents import read_document
from workers.engine.spec.presets import DEFAULT_PRESET, PRESETS

CUSTOM = "custom"
ALSO_SCORED = {
    "truncated": "Answers cut off at max_tokens",
    "filtered": "Answers that a filter withheld",
    "no_text": "Answers without text",
}
SHARED = describe_options(BaseScorer)
COMBINATIONS = {
    "mean": "Their weighted mean",
    "all": "1 if every one passes, else 0",
}
BUDGET_FIELDS = ("dollars", "calls", "seconds")


@dataclass(slots=True)
class ScorerInput:
    description: Description
    is_chosen: bool = False
    values: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def options(self) -> list[OptionField]:
        """Those that only this scorer has."""
        return [option for option in self._fields() if option.described not in SHARED]

    @property
    def shared(self) -> list[OptionField]:
        """Those that every scorer has: few people need them."""
        return [option for option in self._fields() if option.described in SHARED]

    @property
    def uses_shared(self) -> bool:
        return bool(given_options([option.described for option in self.shared], self.values))

    def _fields(self) -> list[OptionField]:
        return option_fields(f"scorer-{self.name}", self.description.options, self.values)

    def entry(self) -> Any:
        """As a configuration writes it: only what differs from the defaults."""
        options = given_options(self.description.options, self.values)
        return {self.name: options} if options else self.name


@dataclass(slots=True)
class NewRunInput:
    """Every field of the form, as text."""

    key: str = ""
    kind: str = DEFAULT_KIND
    mode: str = "form"
    yaml: str = ""
    name: str = ""
    dataset_source: str = "stored"
    dataset: str = ""
    rows: str = ""
    part: SliceInput = field(default_factory=SliceInput)
    expected: str = ""
    sections: dict[str, FormSection] = field(default_factory=dict)  # by kind
    parameters: ParametersInput = field(default_factory=ParametersInput)
    scorers: list[ScorerInput] = field(default_factory=list)
    combine: str = "mean"
    answers: list[str] = field(default_factory=list)  # the flaws with which they are scored
    repeats: str = "1"
    held_out: str = ""
    seed: str = "0"
    preset: str = DEFAULT_PRESET
    limits: dict[str, str] = field(default_factory=dict)
    advanced: AdvancedInput = field(default_factory=AdvancedInput)
    budget: dict[str, str] = field(default_factory=dict)
    cache: str = "use"

    def document(self, rows: Sequence[Mapping[str, str]] = ()) -> dict[str, Any]:
        """What the schema judges. Rows are those of the paste box, already read."""
        return {
            "name": self.name or "unnamed",
            "kind": self.kind,
            "seed": number_or_text(self.seed or "0"),
            "dataset": self.dataset_document(rows),
            **({"expected": self.expected} if self.expected else {}),
            **self.section.document(self.parameters.entry),
            "repeats": number_or_text(self.repeats or "1"),
            **({"held_out": number_or_text(self.held_out)} if self.held_out.strip() else {}),
            "scorers": [scorer.entry() for scorer in self.scorers if scorer.is_chosen],
            **({"combine": self.combine} if self.combine != "mean" else {}),
            **self.answers_document(),
            "limits": self.limits_document(),
            **self.advanced.document(),
            "cache": self.cache,
            **self.budget_document(),
            **self.section.fixed,
        }

    def dataset_document(self, rows: Sequence[Mapping[str, str]]) -> Any:
        """Its name alone where nothing else is said."""
        part = self.part.document()
        if self.dataset_source == "paste":
            return {"rows": list(rows), **part}
        return {"name": self.dataset, **part} if part else self.dataset

    @property
    def section(self) -> FormSection:
        """The part of the form that is about the chosen kind."""
        return self.sections[self.kind]

    def limit_fields(self) -> Iterator[FilledLimit]:
        return fill_limits(self.limits)

    def limits_document(self) -> dict[str, Any]:
        advanced = self.advanced.limits_document()
        if self.preset != CUSTOM:
            return {"preset": self.preset, **advanced}
        given = {name: number_or_text(text) for name, text in self.limits.items() if text.strip()}
        return {**given, **advanced}

    def answers_document(self) -> dict[str, Any]:
        chosen = {f"score_{name}": True for name in ALSO_SCORED if name in self.answers}
        return {"answers": chosen} if chosen else {}

    def budget_document(self) -> dict[str, Any]:
        typed = {name: text.strip().lstrip("$") for name, text in self.budget.items()}
        budget = {name: number_or_text(text) for name, text in typed.items() if text}
        return {"budget": budget} if budget else {}

    def yaml_document(self) -> Any:
        """ConfigurationError says where it cannot be read."""
        return read_document(self.yaml)


def blank_input() -> NewRunInput:
    limits = {name: number_text(PRESETS[DEFAULT_PRESET][name]) for name in LIMIT_FIELDS}
    scorers = read_scorers({"exact": {}})
    return NewRunInput(key=new_key(), sections=blank_sections(), limits=limits, scorers=scorers)


def sections_offered() -> dict[str, type[FormSection]]:
    """By kind; runs of the other kinds are written as YAML."""
    return {kind.name: kind.section for kind in every_kind() if kind.section}


def blank_sections() -> dict[str, FormSection]:
    return {name: section.blank() for name, section in sections_offered().items()}


def known_kind(given: str | None) -> str:
    return given if given in sections_offered() else DEFAULT_KIND


def new_key() -> str:
    """Made when the form is shown: a double click or a reload makes one run, not two."""
    return secrets.token_urlsafe(16)


def read_scorers(chosen: Mapping[str, Mapping[str, str]]) -> list[ScorerInput]:
    """Every scorer there is, with what was chosen of it."""
    return [
        ScorerInput(
            description,
            is_chosen=description.name in chosen,
            values={**default_texts(description.options), **chosen.get(description.name, {})},
        )
        for description in SCORERS.describe()
    ]


def read_post(post: QueryDict) -> NewRunInput:
    """What was sent, untouched."""
    scorers = read_scorers({})
    for scorer in scorers:
        scorer.is_chosen = scorer.name in post.getlist("scorers")
        scorer.values = posted_options(f"scorer-{scorer.name}", scorer.description.options, post)
    return NewRunInput(
        key=post.get("key", ""),
        kind=known_kind(post.get("kind")),
        mode="yaml" if post.get("mode") == "yaml" else "form",
        yaml=post.get("yaml", ""),
        name=post.get("name", "").strip(),
        dataset_source="paste" if post.get("dataset_source") == "paste" else "stored",
        dataset=post.get("dataset", ""),
        rows=post.get("rows", ""),
        part=read_slice(post),
        expected=post.get("expected", "").strip(),
        sections={name: section.read(post) for name, section in sections_offered().items()},
        parameters=read_parameters(post),
        scorers=scorers,
        combine=post.get("combine", "mean"),
        answers=post.getlist("answers"),
        repeats=post.get("repeats", ""),
        held_out=post.get("held_out", ""),
        seed=post.get("seed", ""),
        preset=post.get("preset", CUSTOM),
        limits={name: post.get(name, "") for name in LIMIT_FIELDS},
        advanced=read_advanced(post),
        budget={name: post.get(f"budget_{name}", "") for name in BUDGET_FIELDS},
        cache=post.get("cache", "use"),
    )
