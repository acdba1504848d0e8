"""Where a person wants to be told, and of what. The service judges the address."""

from django import forms

from runs.models import AlertEvent, WebhookKind
from workers.engine.errors import Problem


class AlertForm(forms.Form):
    kind = forms.ChoiceField(label="To", choices=WebhookKind.choices)
    url = forms.CharField(
        label="Address",
        max_length=290,
        help_text="A URL, or a mail address. Private addresses are refused.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    events = forms.MultipleChoiceField(
        label="When a run of yours",
        choices=AlertEvent.choices,
        initial=[AlertEvent.ENDED, AlertEvent.GATE_FAILED],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def add_problems(self, problems: list[Problem]) -> None:
        for path, message in problems:
            self.add_error(path if path in self.fields else None, message)
