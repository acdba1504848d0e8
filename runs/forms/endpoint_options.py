"""What a kind of endpoint can be told besides address and key, as fields of its form."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django import forms

from runs.models import Endpoint, EndpointKind
from workers.engine.named.options import OptionDescription, describe_options
from workers.engine.providers import PROVIDERS, options_of

WITHOUT = (EndpointKind.SIMULATED,)  # what it could be told, nobody needs


class OptionGroup(NamedTuple):
    """The fields of one kind, shown while that kind is chosen."""

    kind: str
    title: str
    fields: list[forms.BoundField]


def described() -> dict[str, tuple[OptionDescription, ...]]:
    """By kind, of those that can be told anything."""
    kinds = [kind for kind in EndpointKind if kind in PROVIDERS and kind not in WITHOUT]
    return {str(kind): found for kind in kinds if (found := describe_options(options_of(kind)))}


def field_name(kind: str, option: OptionDescription) -> str:
    return f"option_{kind}_{option.name}"


def option_names() -> dict[str, list[str]]:
    """The fields of each kind."""
    return {
        kind: [field_name(kind, option) for option in options]
        for kind, options in described().items()
    }


def add_option_fields(form: forms.Form | forms.ModelForm[Endpoint], endpoint: Endpoint) -> None:
    for kind, options in described().items():
        stored = endpoint.options if endpoint.kind == kind else {}
        for option in options:
            form.fields[field_name(kind, option)] = option_field(option, stored)


def option_field(option: OptionDescription, stored: Mapping[str, Any]) -> forms.Field:
    initial = stored.get(option.name, option.default)
    told: dict[str, Any] = {"label": option.label, "help_text": option.help, "initial": initial}
    if option.kind == "choice":
        choices = [(one, one) for one in option.choices]
        return forms.ChoiceField(required=False, choices=choices, **told)
    area = forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "class": "mono"})
    widget = area if option.kind == "long text" else forms.TextInput(attrs={"spellcheck": "false"})
    return forms.CharField(required=False, widget=widget, **told)


def read_options(form: forms.ModelForm[Endpoint], kind: str, stored: Any) -> Any:
    """What was typed for the chosen kind. A form that does not show the fields keeps what is
    stored."""
    names = {field_name(kind, option): option for option in described().get(kind, ())}
    if kind in described() and not any(form.add_prefix(name) in form.data for name in names):
        return stored
    typed = {option.name: form.cleaned_data.get(name) for name, option in names.items()}
    defaults = {option.name: option.default for option in names.values()}
    return {name: value for name, value in typed.items() if value not in (None, "", defaults[name])}


def option_groups(form: forms.ModelForm[Endpoint]) -> list[OptionGroup]:
    return [
        OptionGroup(
            kind, EndpointKind(kind).label, [form[field_name(kind, option)] for option in options]
        )
        for kind, options in described().items()
    ]
