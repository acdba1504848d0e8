"""What an administrator says about an account."""

from typing import Any

from django import forms
from django.conf import settings

from runs.roles import Role

LONGEST_DAYS = 90  # of an invitation
LONGEST_NOTE = 80  # characters, as in the table
ROLE_CHOICES = [(role.value, role.value) for role in Role]


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=[*ROLE_CHOICES, ("", "no role")], required=False)

    @property
    def chosen(self) -> Role | None:
        return Role(self.cleaned_data["role"]) if self.cleaned_data["role"] else None


class InviteForm(forms.Form):
    role = forms.ChoiceField(choices=ROLE_CHOICES, initial=Role.RUNNER.value)
    days = forms.IntegerField(
        label="Days that it works", initial=7, min_value=1, max_value=LONGEST_DAYS
    )
    note = forms.CharField(
        label="For whom",
        required=False,
        max_length=LONGEST_NOTE,
        help_text="Only administrators read it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        options["auto_id"] = "id_invite_%s"  # the other form of the page has a role, too
        super().__init__(*args, **options)


class AddPersonForm(RoleForm):
    email = forms.EmailField(
        label="Mail address",
        required=False,
        help_text="Who has it at the sign-in provider comes in as this account.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    username = forms.CharField(
        label="Name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["role"].initial = Role.RUNNER.value
        if settings.SIGN_IN_PROVIDER is None:
            del self.fields["email"]


class TeamForm(forms.Form):
    name = forms.CharField(max_length=80, widget=forms.TextInput(attrs={"autocomplete": "off"}))
