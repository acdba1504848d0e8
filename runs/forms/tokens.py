"""What a person says about a new API token. The service judges it."""

from collections.abc import Collection
from typing import Any

from django import forms

from runs.models import Scope
from runs.roles import Permission
from workers.engine.errors import Problem

USUAL_DAYS = 90
# What a role must be allowed for a scope to be of any use to it.
USES = {
    Scope.READ: Permission.SEE,
    Scope.RUN: Permission.LAUNCH,
    Scope.MANAGE: Permission.CONFIGURE,
}


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

    def __init__(self, *args: Any, permissions: Collection[Permission], **options: Any) -> None:
        super().__init__(*args, **options)
        useful = [scope for scope in Scope if USES[scope] in permissions]
        scopes = self.fields["scopes"]
        scopes.choices = [(scope.value, scope.label) for scope in useful]  # type: ignore[attr-defined]
        scopes.initial = [scope for scope in scopes.initial if scope in useful]

    def add_problems(self, problems: list[Problem]) -> None:
        for path, message in problems:
            self.add_error(path if path in self.fields else None, message)
