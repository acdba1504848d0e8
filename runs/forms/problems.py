"""Leads the schema's problems back to the fields of the new-run form."""

from collections.abc import Iterable
from typing import NamedTuple

from runs.forms.limit_fields import LIMIT_FIELDS
from runs.forms.new_run import BUDGET_FIELDS, NewRunInput
from workers.engine.errors import Problem
from workers.engine.strategies.describing import describe_options
from workers.engine.strategies.options import Objective

_FIELDS: dict[str, tuple[str, str]] = {
    "name": ("id_name", "Name"),
    "seed": ("id_seed", "Seed"),
    "dataset": ("id_dataset", "Dataset"),
    "expected": ("id_expected", "Expected answer"),
    "prompts": ("id_prompts", "Prompts"),
    "models": ("id_models", "Models"),
    "steps": ("id_steps", "Steps"),
    "strategy": ("id_strategy", "Strategy"),
    "objective": ("id_objective", "What is best"),
    "repeats": ("id_repeats", "Repeats"),
    "scorers": ("id_scorers", "Scorers"),
    "limits": ("id_preset", "Speed"),
    "budget": ("id_budget_dollars", "Budget"),
    "cache": ("id_cache", "Cache"),
}


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
    if filled.mode == "yaml":
        return "id_yaml", path or "Configuration"
    parts = path.split(".")
    if parts[:2] == ["dataset", "first"]:
        return "id_first", "How many rows"
    if parts[0] == "dataset" and filled.dataset_source == "paste":
        return "id_rows", "Rows"
    if parts[0] == "limits" and len(parts) > 1 and parts[1] in LIMIT_FIELDS:
        return f"id_{parts[1]}", LIMIT_FIELDS[parts[1]].label
    if parts[0] == "budget" and len(parts) > 1 and parts[1] in BUDGET_FIELDS:
        return f"id_budget_{parts[1]}", f"Budget, {parts[1]}"
    if parts[0] in ("models", "steps") and "parameters" in parts:
        return "id_parameters", "Model parameters"
    if parts[0] == "prompts" and len(parts) > 1:
        return find_prompt(parts[1:], filled)
    if parts[0] == "steps" and len(parts) > 1:
        return find_step(parts[1:], filled)
    if parts[0] == "objective" and len(parts) > 1:
        labels = {option.name: option.label for option in describe_options(Objective)}
        return f"id_objective-{parts[1]}", labels.get(parts[1], _FIELDS["objective"][1])
    return _FIELDS.get(parts[0], ("", ""))


def find_step(parts: list[str], filled: NewRunInput) -> tuple[str, str]:
    steps = filled.selection.filled_steps
    place_in_document = int(parts[0]) if parts[0].isdecimal() else -1
    if not 0 <= place_in_document < len(steps):
        return _FIELDS["steps"]
    allowed = ("name", "system", "user", "models")
    part = parts[1] if len(parts) > 1 and parts[1] in allowed else "name"
    return f"{steps[place_in_document].field}-{part}", f"Step {place_in_document + 1}, {part}"


def find_prompt(parts: list[str], filled: NewRunInput) -> tuple[str, str]:
    """Blank rows are not sent, so a place in the document need not be the row's number."""
    place_in_document = int(parts[0]) if parts[0].isdecimal() else -1
    if not 0 <= place_in_document < len(filled.filled_prompts):
        return _FIELDS["prompts"]
    prompt = filled.filled_prompts[place_in_document]
    part = parts[1] if len(parts) > 1 and parts[1] in ("name", "system", "user") else "user"
    return f"{prompt.field}-{part}", f"Prompt {place_in_document + 1}, {part}"
