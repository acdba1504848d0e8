"""Fields for the entries of a registry, each with its options: to tick, or to choose one of.

A number that is left empty is not sent: a preset says it, or else the entry's own default.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from django.http import QueryDict

from runs.forms.model_parameters import number_or_text
from runs.forms.options import (
    OptionField,
    default_texts,
    given_options,
    option_fields,
    option_text,
    posted_options,
)
from workers.engine.named import Description, OptionDescription, Registry

Texts = Mapping[str, Mapping[str, str]]
Options = Sequence[OptionDescription]


def all_options(described: Description) -> Options:
    return described.options


class EntryField(NamedTuple):
    """One to tick."""

    described: Description
    is_chosen: bool
    options: list[OptionField]


class StrategyField(NamedTuple):
    """One to choose, with what a person usually changes and what else there is."""

    described: Description
    is_chosen: bool
    main: list[OptionField]
    more: list[OptionField]
    presets: Sequence["Preset"] = ()

    @property
    def is_more_used(self) -> bool:
        return any(is_changed(one) for one in self.more)


class Preset(NamedTuple):
    name: str
    label: str
    is_chosen: bool
    placeholders: str  # of the fields that it fills while they are empty, as JSON


class NamedFields(NamedTuple):
    """The entries of a registry in a form, under names that begin with a word of their own."""

    registry: Registry[Any]
    word: str
    options_of: Callable[[Description], Options] = all_options  # those that are shown of an entry

    def prefix(self, name: str) -> str:
        return f"{self.word}-{name}"

    def texts(self, given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
        """Of every entry: what was given, else what it comes with."""
        return {
            each.name: {
                **default_texts(self.options_of(each)),
                **{name: option_text(value) for name, value in given.get(each.name, {}).items()},
            }
            for each in self.registry.describe()
        }

    def chosen_texts(
        self, name: str, given: Mapping[str, Any], write: Callable[[Any], str] = option_text
    ) -> dict[str, dict[str, str]]:
        """Of every entry, where one is chosen: numbers that were not given stay empty."""
        found = {}
        for each in self.registry.describe():
            own = given if each.name == name else {}
            usual = default_texts(without_numbers(each.options))
            found[each.name] = {**usual, **{key: write(value) for key, value in own.items()}}
        return found

    def posted(self, post: QueryDict) -> dict[str, dict[str, str]]:
        return {
            each.name: posted_options(self.prefix(each.name), self.options_of(each), post)
            for each in self.registry.describe()
        }

    def options(self, name: str, texts: Texts) -> dict[str, Any]:
        """As a configuration writes them: only what differs from the defaults."""
        described = self.registry.describe_one(name)
        return given_options(self.options_of(described), texts.get(name, {}))

    def entries(self, chosen: Collection[str], texts: Texts) -> list[EntryField]:
        return [
            EntryField(each, each.name in chosen, self.fields(each, texts.get(each.name, {})))
            for each in self.registry.describe()
        ]

    def fields(self, each: Description, own: Mapping[str, str]) -> list[OptionField]:
        return option_fields(self.prefix(each.name), self.options_of(each), own)

    def strategy(
        self,
        each: Description,
        own: Mapping[str, str],
        hints: Mapping[str, str],
        main: Sequence[str],
        *,
        is_chosen: bool,
    ) -> StrategyField:
        """`hints`: what empty fields stand for; `main`: what is shown unasked, in this order."""
        fields = {
            one.described.name: one._replace(placeholder=hints.get(one.described.name, ""))
            for one in self.fields(each, own)
        }
        more = [one for name, one in fields.items() if name not in main]
        return StrategyField(each, is_chosen, [fields[n] for n in main if n in fields], more)


def is_number(option: OptionDescription) -> bool:
    return option.kind == "number"


def is_changed(one: OptionField) -> bool:
    if is_number(one.described):
        return bool(one.value)
    return one.value != option_text(one.described.default)


def without_numbers(options: Options) -> list[OptionDescription]:
    return [option for option in options if not is_number(option)]


def typed_numbers(
    options: Options,
    texts: Mapping[str, str],
    read: Callable[[str, str], Any] = lambda name, text: number_or_text(text),
) -> dict[str, Any]:
    """Also those that equal the default: a preset has others."""
    typed = {one.name: texts.get(one.name, "").strip() for one in options if is_number(one)}
    return {name: read(name, text) for name, text in typed.items() if text}
