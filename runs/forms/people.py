"""What an administrator says about an account."""

from django import forms

from runs.roles import Role

ROLE_CHOICES = [(role.value, role.value) for role in Role]


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=[*ROLE_CHOICES, ("", "no role")], required=False)

    @property
    def chosen(self) -> Role | None:
        return Role(self.cleaned_data["role"]) if self.cleaned_data["role"] else None
