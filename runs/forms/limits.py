"""The limits of a run that goes on, as a person changes them. The service judges the numbers."""

from collections.abc import Mapping
from typing import Any

from django import forms

from runs.formatting import plain_number
from runs.models import Priority
from workers.engine.errors import Problem
from workers.engine.spec.configuration import Budget, Configuration

NUMBERS = ("max_concurrent", "requests_per_minute", "tokens_per_minute")


def number_field(label: str, help_text: str = "", mode: str = "numeric") -> forms.CharField:
    widget = forms.TextInput(attrs={"inputmode": mode, "autocomplete": "off"})
    return forms.CharField(label=label, required=False, help_text=help_text, widget=widget)


def as_typed(text: str) -> str | None:
    """A number for the service to judge; empty is no limit."""
    return text.strip().lstrip("$").replace(",", "") or None


def read_budget_changes(given: Mapping[str, str]) -> dict[str, Any]:
    """The budgets that the notice of a stopped run asks for: only those that are given change."""
    names = [name for name in Budget.model_fields if f"budget_{name}" in given]
    return {"budget": {name: as_typed(given[f"budget_{name}"]) for name in names}}


class LimitsForm(forms.Form):
    max_concurrent = number_field("Calls at once", "Empty: as many as the endpoint allows.")
    requests_per_minute = number_field("Requests a minute", "Empty: no limit.")
    tokens_per_minute = number_field("Tokens a minute", "Empty: no limit.")
    budget_dollars = number_field("Budget, dollars", "Empty: no limit.", "decimal")
    budget_calls = number_field("Budget, calls", "Empty: no limit.")
    budget_seconds = number_field("Budget, seconds", "Empty: no limit.", "decimal")
    priority = forms.ChoiceField(label="Priority", choices=Priority.choices)
    reason = forms.CharField(
        label="Why (optional)",
        required=False,
        widget=forms.TextInput(attrs={"maxlength": 200, "autocomplete": "off"}),
    )

    @classmethod
    def of(cls, configuration: Configuration) -> "LimitsForm":
        """With the limits that hold now."""
        limits = configuration.limits
        numbers = {name: getattr(limits, name) for name in NUMBERS}
        budget = {
            f"budget_{name}": total if total is None else plain_number(total)
            for name, total in configuration.budget
        }
        return cls(initial={**numbers, **budget, "priority": configuration.priority})

    def changes(self) -> dict[str, Any]:
        numbers = {name: self._number(name) for name in NUMBERS}
        budget = {name: self._number(f"budget_{name}") for name in Budget.model_fields}
        return {**numbers, "priority": self.cleaned_data["priority"], "budget": budget}

    def _number(self, name: str) -> str | None:
        return as_typed(self.cleaned_data[name])

    def add_problems(self, problems: list[Problem]) -> None:
        for path, message in problems:
            first, _, rest = path.partition(".")
            field = f"budget_{rest}" if first == "budget" else first
            self.add_error(field if field in self.fields else None, message)
