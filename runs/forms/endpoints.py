"""The endpoint form. A stored key is never sent back to it."""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from django import forms

from runs.forms.endpoint_options import OptionGroup, add_option_fields, option_groups, read_options
from runs.forms.lines import HeadersField, LinesField, PricesField
from runs.models import Endpoint
from runs.outbound import NEEDS_A_TICK, places_of
from runs.secrets import NewSecrets
from workers.engine.http import proxy_addresses

TYPE_AGAIN = "Type the key again: it is never sent back to a page."
PEM_HEAD = "-----BEGIN CERTIFICATE-----"


class Difference(NamedTuple):
    """A field that somebody else may have changed while this form was open."""

    label: str
    stored: str
    typed: str


class PrivateAddressesField(forms.MultipleChoiceField):
    """A tick for each place. The service takes none but the endpoint's own addresses."""

    def valid_value(self, value: str) -> bool:
        return True


class FoundModelsField(forms.MultipleChoiceField):
    """Ticks among the models that a server lists; the service judges their names."""

    def valid_value(self, value: str) -> bool:
        return True


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
        "Ollama server or an Azure resource the address alone, as in http://gpu-1.example:11434. "
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
    private_addresses = PrivateAddressesField(
        required=False,
        label="Private addresses",
        help_text="Its calls go to none of these without a tick. Take a tick away to end that.",
        widget=forms.CheckboxSelectMultiple,
    )
    prices = PricesField(
        required=False,
        label="Prices",
        help_text="Dollars per million tokens, one model per line: name, input, output. Those of "
        "known providers are filled in from a list when you save; yours win. The cost of a model "
        "without a price is shown as unknown.",
    )
    found_models = FoundModelsField(
        required=False, label="Found on the server", widget=forms.CheckboxSelectMultiple
    )
    new_headers = HeadersField(
        required=False,
        label="Headers",
        help_text="Sent with every call, one per line: Name: value. Stored encrypted and never "
        "shown again.",
    )
    remove_headers = forms.BooleanField(required=False, label="Remove the headers that are set")
    new_proxy = forms.CharField(
        required=False,
        max_length=300,
        label="Proxy",
        help_text="As in http://user:password@proxy.example:3128 or socks5://proxy.example:1080; "
        "direct for none. Leave empty for that of the site (HTTPS_PROXY), if it has one.",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
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
            "private_addresses",
            "prices",
            "ca_bundle",
            "new_key",
        )
        widgets = {
            "ca_bundle": forms.Textarea(
                attrs={"rows": 3, "spellcheck": "false", "class": "mono", "placeholder": PEM_HEAD}
            )
        }
        labels = {
            "max_concurrent": "Calls at once",
            "requests_per_minute": "Requests a minute",
            "tokens_per_minute": "Tokens a minute",
            "adaptive": "Adapt to the provider",
            "ca_bundle": "Certificates (CA bundle)",
        }

    def __init__(self, *args: Any, offered: Iterable[str] = (), **kwargs: Any) -> None:
        """`offered`: private addresses to be ticked besides those that are allowed already."""
        super().__init__(*args, **kwargs)
        self._offered: list[str] = []
        self._offer([*self.instance.private_addresses, *offered, *self._ticked()])
        add_option_fields(self, self.instance)
        self.fields["new_proxy"].initial = self.instance.proxy_shown
        if names := self.instance.header_names:
            told = f"Set: {', '.join(names)}. Leave empty to keep them; others replace them all."
            self.fields["new_headers"].help_text = told
        if self.instance.pk:
            self.fields["opened"].initial = self.instance.revision
        if self.instance.has_key:
            self.fields["new_key"].label = "Replace key"
            self.fields["new_key"].help_text = "Leave empty to keep the key that is set."

    def clean(self) -> dict[str, Any]:
        """Ticked models come behind those that were typed."""
        cleaned = super().clean() or self.cleaned_data
        ticked = (name for name in cleaned.get("found_models") or () if name)
        names = [*(cleaned.get("model_names") or ()), *ticked]
        cleaned["model_names"] = list(dict.fromkeys(names))
        self.instance.options = read_options(self, cleaned.get("kind", ""), self.instance.options)
        return cleaned

    @property
    def new_secrets(self) -> NewSecrets:
        """What the service is told: None keeps what is stored."""
        cleaned = self.cleaned_data
        headers = {} if cleaned.get("remove_headers") else cleaned.get("new_headers") or None
        is_shown = self.add_prefix("new_proxy") in self.data
        proxy = cleaned.get("new_proxy", "") if is_shown else self.instance.proxy_shown
        is_kept = proxy == self.instance.proxy_shown
        return NewSecrets(cleaned.get("new_key") or None, headers, None if is_kept else proxy)

    @property
    def has_network(self) -> bool:
        """Whether anything is set, or wrong, that most people need not see."""
        names = ("new_headers", "new_proxy", "ca_bundle")
        one = self.instance
        is_set = one.header_names or one.proxy_shown or one.ca_bundle
        return bool(is_set) or any(name in self.errors for name in names)

    @property
    def option_groups(self) -> list[OptionGroup]:
        return option_groups(self)

    def add_error(self, field: str | None, error: Any) -> None:
        """What is only private is shown with the tick that allows it."""
        super().add_error(field, error)
        found = [one for errors in self.errors.as_data().values() for one in errors]
        self._offer(one.params["place"] for one in found if one.code == NEEDS_A_TICK and one.params)
        self.say_what_to_type_again()

    def say_what_to_type_again(self) -> None:
        """A page that is shown again never has the key: saving it would store none."""
        if self.data.get(self.add_prefix("new_key")) and "new_key" not in self.errors:
            super().add_error("new_key", TYPE_AGAIN)

    def _ticked(self) -> list[str]:
        """Of what was sent, those of its own addresses: nothing else can be allowed."""
        name = self.add_prefix("private_addresses")
        sent = self.fields["private_addresses"].widget.value_from_datadict(
            self.data, self.files, name
        )
        urls = [self.data.get(self.add_prefix("base_url"), "")]
        urls += self.data.get(self.add_prefix("more_urls"), "").split()
        urls += [*self.instance.called_urls, *proxy_addresses(self.data.get("new_proxy", ""))]
        return [place for place in places_of(urls) if place in (sent or ())]

    def _offer(self, places: Iterable[str]) -> None:
        self._offered = list(dict.fromkeys([*self._offered, *places]))
        field = cast(PrivateAddressesField, self.fields["private_addresses"])
        field.choices = [(place, place) for place in self._offered]

    def differences(self, stored: Endpoint) -> list[Difference]:
        """What is stored now against what was typed, field by field."""
        return [
            Difference(self._label(name), was, typed)
            for name in (*(self._meta.fields or ()), "options")
            if name != "new_key"
            for was, typed in [(self._text(name, stored), self._text(name, self.instance))]
            if was != typed
        ]

    def _label(self, name: str) -> str:
        return str(self.fields[name].label or name) if name in self.fields else name.capitalize()

    def _text(self, name: str, endpoint: Endpoint) -> str:
        if name == "options":
            return ", ".join(f"{key} {value}" for key, value in endpoint.options.items()) or "none"
        if name == "kind":
            return endpoint.get_kind_display()
        value = self.fields[name].prepare_value(getattr(endpoint, name))
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "empty" if value in (None, "") else str(value)

    def _get_validation_exclusions(self) -> set[str]:
        judged = {"base_url", "more_urls", "prices"}  # by the service
        return {*super()._get_validation_exclusions(), *judged}  # type: ignore[misc]  # no stub
