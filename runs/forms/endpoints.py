"""The endpoint form. A stored key is never sent back to it."""

from typing import Any, NamedTuple

from django import forms

from runs.forms.lines import LinesField, PricesField
from runs.models import Endpoint


class Difference(NamedTuple):
    """A field that somebody else may have changed while this form was open."""

    label: str
    stored: str
    typed: str


class EndpointForm(forms.ModelForm):  # type: ignore[type-arg]  # cannot be written at run time
    model_names = LinesField(
        required=False,
        label="Models",
        help_text="One per line, as the provider names them. They are offered on the new-run page.",
    )
    # The service judges the address: unlike Django's URL field it knows which hosts are allowed.
    base_url = forms.CharField(
        required=False,
        max_length=300,
        label="Base URL",
        help_text="Up to and including the version, as in https://provider.example/v1; of an "
        "Ollama server the address alone, as in http://gpu-1.example:11434. "
        "Leave empty for the simulated provider that is shipped with the site.",
        widget=forms.URLInput(attrs={"placeholder": "https://provider.example/v1"}),
    )
    more_urls = LinesField(
        required=False,
        label="Further servers",
        help_text="One per line, like the base URL: servers with the same models. The least loaded "
        "one gets the next call; a server that is down gets none until it is back.",
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    prices = PricesField(
        required=False,
        label="Prices",
        help_text="Dollars per million tokens, one model per line: name, input, output. "
        "The cost of a model without a price is shown as unknown.",
    )
    opened = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput())
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
            "tokens_per_minute",
            "adaptive",
            "more_urls",
            "prices",
            "new_key",
        )
        labels = {
            "max_concurrent": "Calls at once",
            "requests_per_minute": "Requests a minute",
            "tokens_per_minute": "Tokens a minute",
            "adaptive": "Adapt to the provider",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.fields["opened"].initial = self.instance.revision
        if self.instance.has_key:
            self.fields["new_key"].label = "Replace key"
            self.fields["new_key"].help_text = "Leave empty to keep the key that is set."

    def differences(self, stored: Endpoint) -> list[Difference]:
        """What is stored now against what was typed, field by field."""
        return [
            Difference(str(self.fields[name].label or name), was, typed)
            for name in self._meta.fields or ()
            if name != "new_key"
            for was, typed in [(self._text(name, stored), self._text(name, self.instance))]
            if was != typed
        ]

    def _text(self, name: str, endpoint: Endpoint) -> str:
        if name == "kind":
            return endpoint.get_kind_display()
        value = self.fields[name].prepare_value(getattr(endpoint, name))
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "empty" if value in (None, "") else str(value)

    def _get_validation_exclusions(self) -> set[str]:
        judged = {"base_url", "more_urls", "prices"}  # by the service
        return {*super()._get_validation_exclusions(), *judged}  # type: ignore[misc]  # no stub
