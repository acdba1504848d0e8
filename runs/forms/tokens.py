"""What a person says about a new API token. The service judges it."""

from django import forms

from runs.models import Scope
from workers.engine.errors import Problem

USUAL_DAYS = 90


class TokenForm(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=80,
        help_text="What it is for, as in nightly CI.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    days = forms.IntegerField(
        label="Expires after, days",
        required=False,
        initial=USUAL_DAYS,
        help_text="Empty: never.",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label="It may",
        choices=Scope.choices,
        initial=[Scope.READ, Scope.RUN],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def add_problems(self, problems: list[Problem]) -> None:
        for path, message in problems:
            self.add_error(path if path in self.fields else None, message)
