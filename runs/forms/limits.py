"""The limits of a run that goes on, as a person changes them. The service judges the numbers."""

from typing import Any

from django import forms

from runs.models import Priority
from workers.engine.errors import Problem
from workers.engine.spec import Configuration

NUMBERS = ("max_concurrent", "requests_per_minute", "tokens_per_minute")


def number_field(label: str, help_text: str = "") -> forms.CharField:
    widget = forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"})
    return forms.CharField(label=label, required=False, help_text=help_text, widget=widget)


class LimitsForm(forms.Form):
    max_concurrent = number_field("Calls at once")
    requests_per_minute = number_field("Requests a minute", "Empty: no limit.")
    tokens_per_minute = number_field("Tokens a minute", "Empty: no limit.")
    priority = forms.ChoiceField(label="Priority", choices=Priority.choices)
    reason = forms.CharField(
        label="Why",
        required=False,
        widget=forms.TextInput(attrs={"maxlength": 200, "autocomplete": "off"}),
    )

    @classmethod
    def of(cls, configuration: Configuration) -> "LimitsForm":
        """With the limits that hold now."""
        limits = configuration.limits
        numbers = {name: getattr(limits, name) for name in NUMBERS}
        return cls(initial={**numbers, "priority": configuration.priority})

    def changes(self) -> dict[str, Any]:
        numbers = {name: self.cleaned_data[name].strip().replace(",", "") for name in NUMBERS}
        empty_is_no_limit = {name: text or None for name, text in numbers.items()}
        return {**empty_is_no_limit, "priority": self.cleaned_data["priority"]}

    def add_problems(self, problems: list[Problem]) -> None:
        for path, message in problems:
            field = path.partition(".")[0]
            self.add_error(field if field in self.fields else None, message)
