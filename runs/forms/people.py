"""What an administrator says about an account."""

from typing import Any

from django import forms

from runs.roles import Role

ROLE_CHOICES = [(role.value, role.value) for role in Role]


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=[*ROLE_CHOICES, ("", "no role")], required=False)

    @property
    def chosen(self) -> Role | None:
        return Role(self.cleaned_data["role"]) if self.cleaned_data["role"] else None


class AddPersonForm(RoleForm):
    username = forms.CharField(
        label="Name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["role"].initial = Role.RUNNER.value
