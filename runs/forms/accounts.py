"""Sign-in, the first account, new passwords, and the profile."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from runs.models import Theme
from runs.selectors.profiles import time_zones


class SignInForm(forms.Form):
    username = forms.CharField(
        max_length=150,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
        ),
    )
    password = forms.CharField(
        strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class NewPasswordForm(forms.Form):
    """A password, typed twice. The service judges it."""

    password = forms.CharField(
        strip=False,
        label="New password",
        help_text="At least 12 characters.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    password_again = forms.CharField(
        strip=False,
        label="New password again",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        first, second = cleaned.get("password"), cleaned.get("password_again")
        if first and second and first != second:
            self.add_error("password_again", "The two passwords differ. Type the same one twice.")
        return cleaned


class SetupForm(NewPasswordForm):
    username = forms.CharField(
        max_length=150,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "autofocus": True}
        ),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["password"].label = "Password"
        self.fields["password_again"].label = "Password again"


class ChangePasswordForm(NewPasswordForm):
    field_order = ("old_password", "password", "password_again")
    old_password = forms.CharField(
        strip=False,
        label="Your password now",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


def add_reasons(form: forms.Form, error: ValidationError) -> None:
    """What a service found wrong, each at its field."""
    for field, reasons in error.message_dict.items():
        form.add_error(field if field in form.fields else None, reasons)


class ProfileForm(forms.Form):
    theme = forms.ChoiceField(choices=Theme.choices, help_text="How pages look.")
    time_zone = forms.ChoiceField(
        choices=lambda: [(name, name.replace("_", " ")) for name in time_zones()],
        label="Time zone",
        help_text="Times on pages are shown in it. Files and the API stay in UTC.",
    )
