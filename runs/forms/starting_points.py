"""Fills the new-run form from a stored document: a preset, a configuration or a past run."""

import json
from collections.abc import Mapping
from typing import Any

from runs.forms.advanced import advanced_of, without_advanced
from runs.forms.dataset_slice import slice_input_of
from runs.forms.limit_fields import LIMIT_FIELDS
from runs.forms.model_parameters import number_text, parameters_of
from runs.forms.new_run import (
    CUSTOM,
    NewRunInput,
    blank_input,
    blank_sections,
    new_key,
    read_scorers,
    sections_offered,
)
from runs.forms.options import option_text
from runs.kinds.section import FormSection
from workers.engine.errors import ConfigurationError
from workers.engine.kinds import read_configuration
from workers.engine.named import UnknownName, WrongOptions
from workers.engine.scorers import build_scorer
from workers.engine.spec.configuration import Configuration, Limits
from workers.engine.spec.documents import write_document
from workers.engine.spec.presets import DEFAULT_PRESET


def from_document(document: Mapping[str, Any]) -> NewRunInput:
    """The form filled in; as YAML where the document says more than the form can show."""
    try:
        configuration = read_configuration(dict(document))
    except ConfigurationError:
        return from_yaml(document)
    if configuration.kind not in sections_offered():
        return from_yaml(document)
    filled = from_configuration(configuration)
    if not shows_all_of(filled, configuration):
        return from_yaml(document)
    return filled


def from_yaml(document: Mapping[str, Any]) -> NewRunInput:
    filled = blank_input()
    filled.mode, filled.yaml = "yaml", write_document(document)
    filled.name = str(document.get("name", ""))
    return filled


def from_configuration(configuration: Configuration) -> NewRunInput:
    dataset = configuration.dataset
    rows = dataset.rows if dataset else None
    chosen = {
        scorer.name: {name: option_text(value) for name, value in scorer.options.items()}
        for scorer in configuration.scorers
    }
    return NewRunInput(
        key=new_key(),
        kind=configuration.kind,
        name=configuration.name,
        dataset_source="stored" if rows is None else "paste",
        dataset=(dataset.name if dataset else None) or "",
        part=slice_input_of(dataset),
        expected=configuration.expected or "",
        rows="\n".join(json.dumps(row, ensure_ascii=False) for row in rows or []),
        sections=sections_of(configuration),
        parameters=parameters_of(configuration.called),
        scorers=read_scorers(chosen),
        combine=configuration.combine,
        answers=sorted(configuration.answers.accepted),
        repeats=str(configuration.repeats),
        held_out=number_text(configuration.held_out),
        seed=str(configuration.seed),
        preset=preset_of(configuration.limits),
        limits={name: number_text(getattr(configuration.limits, name)) for name in LIMIT_FIELDS},
        advanced=advanced_of(configuration),
        budget={name: number_text(total) for name, total in configuration.budget},
        cache=configuration.cache,
    )


def sections_of(configuration: Configuration) -> dict[str, FormSection]:
    """Those of the other kinds are as in a blank form: a person may change over."""
    own = sections_offered()[configuration.kind].of(configuration)
    return {**blank_sections(), configuration.kind: own}


def preset_of(limits: Limits) -> str:
    """The preset these limits are, or custom when one of its numbers was changed."""
    preset = limits.preset or DEFAULT_PRESET
    unchanged = Limits.model_validate({"preset": preset, "schedule": limits.schedule})
    is_unchanged = without_advanced(limits) == without_advanced(unchanged)
    return preset if is_unchanged else CUSTOM


def shows_all_of(filled: NewRunInput, configuration: Configuration) -> bool:
    """Whether nothing would be lost by sending the form as it is filled in."""
    try:
        rows = configuration.dataset.rows if configuration.dataset else None
        sent = read_configuration(filled.document(rows or []))
        return comparable(sent) == comparable(configuration)
    except (ConfigurationError, UnknownName, WrongOptions, ValueError):  # or no usual part
        return False


def comparable(configuration: Configuration) -> dict[str, Any]:
    """What a configuration means, however it was written: options and limits in full."""
    scorers = [build_scorer(scorer.name, scorer.options) for scorer in configuration.scorers]
    meaning = configuration.model_dump(exclude={"limits": {"preset"}})
    if configuration.dataset and configuration.dataset.split:
        split = configuration.dataset.split
        usual = split if split.column else split.settled("")
        meaning["dataset"]["split"] = usual.model_dump()
    own = sections_offered()[configuration.kind].meaning(configuration)
    return {**meaning, **own, "scorers": scorers}
