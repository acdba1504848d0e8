"""The endpoint form. The key goes in and never comes out again."""

from typing import Any

from django import forms

from runs.models import Endpoint


class ModelsField(forms.CharField):
    """Model names, one a line."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        lines = (line.strip() for line in text.replace(",", "\n").splitlines())
        return list(dict.fromkeys(line for line in lines if line))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.to_python(data) != (initial or []))


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]  # cannot be written at run time
    model_names = ModelsField(
        required=False,
        label="Models",
        help_text="One a line, as the provider names them. They are offered on the new-run page.",
    )
    # The service judges the address: unlike Django's URL field it knows which hosts are allowed.
    base_url = forms.CharField(
        required=False,
        max_length=300,
        label="Base URL",
        help_text=Endpoint._meta.get_field("base_url").help_text,
        widget=forms.URLInput(attrs={"placeholder": "https://provider.example/v1"}),
    )
    new_key = forms.CharField(
        required=False,
        strip=True,
        max_length=2000,
        label="API key",
        help_text="Stored encrypted and never shown again. Leave empty if none is needed.",
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    class Meta:
        model = Endpoint
        fields = (
            "name",
            "kind",
            "base_url",
            "model_names",
            "max_concurrent",
            "requests_per_minute",
            "new_key",
        )
        labels = {"max_concurrent": "Calls at once", "requests_per_minute": "Requests a minute"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.has_key:
            self.fields["new_key"].label = "Replace key"
            self.fields["new_key"].help_text = "Leave empty to keep the key that is set."

    def _get_validation_exclusions(self) -> set[str]:
        return {*super()._get_validation_exclusions(), "base_url"}  # type: ignore[misc]  # no stub
