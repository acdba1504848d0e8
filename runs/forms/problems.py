"""Leads the schema's problems back to the fields of the new-run form."""

from collections.abc import Iterable
from typing import NamedTuple

from runs.forms.advanced import NUMBERS, field_id
from runs.forms.dataset_slice import FIELDS as SLICE_FIELDS
from runs.forms.limit_fields import LIMIT_FIELDS
from runs.forms.new_run import BUDGET_FIELDS, NewRunInput
from workers.engine.errors import Problem

_FIELDS: dict[str, tuple[str, str]] = {
    "name": ("id_name", "Name"),
    "seed": ("id_seed", "Seed"),
    "dataset": ("id_dataset", "Dataset"),
    "expected": ("id_expected", "Expected answer"),
    "repeats": ("id_repeats", "Repeats"),
    "held_out": ("id_held_out", "Held out"),
    "scorers": ("id_scorers", "Scorers"),
    "combine": ("id_combine", "The score of several"),
    "limits": ("id_preset", "Speed"),
    "budget": ("id_budget_dollars", "Budget"),
    "cache": ("id_cache", "Cache"),
    "own_parameters": ("id_own_parameters", "Parameters of some models"),
}
SAVE_NAME = "save_name"  # beside the document: what to store it as


class FieldProblem(NamedTuple):
    """A problem and the field to fix it in; no field when it is about the whole."""

    field: str
    label: str
    message: str


def place(problems: Iterable[Problem], filled: NewRunInput) -> list[FieldProblem]:
    """Each once: what is given once for all models is wrong once, too."""
    placed = (FieldProblem(*find_field(found.path, filled), found.message) for found in problems)
    return list(dict.fromkeys(placed))


def find_field(path: str, filled: NewRunInput) -> tuple[str, str]:
    """The id and the label of the field that a path of the document comes from."""
    if path == SAVE_NAME:
        return f"id_{SAVE_NAME}", "Name of the configuration"
    if filled.mode == "yaml":
        return "id_yaml", path or "Configuration"
    parts = path.split(".")
    if parts[0] == "dataset" and len(parts) > 1 and parts[1] in SLICE_FIELDS:
        return SLICE_FIELDS[parts[1]]
    if parts[0] == "dataset" and filled.dataset_source == "paste":
        return "id_rows", "Rows"
    if parts[0] == "limits" and len(parts) > 1 and parts[1] in LIMIT_FIELDS:
        return f"id_{parts[1]}", LIMIT_FIELDS[parts[1]].label
    if parts[-1] in NUMBERS and parts[0] in ("limits", parts[-1]):
        return field_id(parts[-1]), NUMBERS[parts[-1]].label
    if parts[0] == "budget" and len(parts) > 1 and parts[1] in BUDGET_FIELDS:
        return f"id_budget_{parts[1]}", f"Budget, {parts[1]}"
    return filled.section.find_field(parts) or _FIELDS.get(parts[0], ("", ""))
