"""The registry itself: finds a thing by its name, checks its options, and describes them all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from workers.engine.named.named import Description, Named, label_of, summary_of
from workers.engine.named.options import describe_options, option_names
from workers.engine.plugins import PLUGINS, SETTING, is_plugin_name

Thing = TypeVar("Thing", bound=Named)


class UnknownName(ValueError):
    """Nothing of this name is there. Says what is."""


class WrongOption(NamedTuple):
    option: str  # where it is; empty: about several of them
    message: str  # with the name of the thing


class WrongOptions(ValueError):
    """Lists everything wrong with the options, and which there are."""

    def __init__(self, message: str, each: Sequence[WrongOption] = ()) -> None:
        super().__init__(message)
        self.each = each  # where it is known what is wrong with which one


class Entry(NamedTuple):
    """A thing as a configuration names it."""

    name: str
    options: dict[str, Any]


class Chosen(NamedTuple, Generic[Thing]):
    """A thing that is there, with options that were checked. Where a thing's own fields are its
    options, `options` is the thing, ready for use."""

    name: str
    thing: type[Thing]
    options: Any


class Registry(Mapping[str, type[Thing]]):
    """Ours first, then those of EVALSITE_PLUGINS, which are named by their whole path."""

    def __init__(
        self,
        word: str,
        ours: dict[str, type[Thing]],
        *,
        adopt: Callable[[object], type[Thing] | None],
        example: str,
        recommended: str = "",
    ) -> None:
        """`word` is what one of them is called; `adopt` makes an entry of a plug-in, or None of
        one that is something else; `example` shows one with options, as YAML."""
        self.word = word
        self.ours = ours
        self.recommended = recommended  # to people, in forms; what names none has its own default
        self.example = example
        self._adopt = adopt

    def __getitem__(self, name: str) -> type[Thing]:
        if name in self.ours:
            return self.ours[name]
        adopted = self._adopt(PLUGINS.get(name))
        if adopted is None:
            raise KeyError(name)
        return adopted

    def __iter__(self) -> Iterator[str]:
        yield from self.ours
        yield from (name for name in PLUGINS if self.takes(PLUGINS[name]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def takes(self, plugin: object) -> bool:
        return self._adopt(plugin) is not None

    def find(self, name: object) -> type[Thing]:
        """UnknownName says which there are."""
        if isinstance(name, str) and name in self:
            return self[name]
        told = f"Unknown {self.word} {name!r}. Choose one of: {', '.join(self)}."
        if isinstance(name, str) and is_plugin_name(name):
            told += f" Those of installed packages are named in {SETTING}, by the host's operator."
        raise UnknownName(told)

    def choose(self, name: str, options: Mapping[str, Any]) -> Chosen[Thing]:
        """The thing with its options, checked."""
        thing = self.find(name)
        model = thing.options_model()
        known = option_names(model)
        if unknown := [option for option in options if option not in known]:
            takes = ", ".join(known)
            raise WrongOptions(
                f"The {self.word} {name} has no option {', '.join(map(repr, unknown))}. "
                + (f"It takes: {takes}." if takes else "It takes none.")
            )
        try:
            return Chosen(name, thing, model.model_validate(dict(options)))
        except ValidationError as error:
            found = complaints(name, error)
            raise WrongOptions("; ".join(one.message for one in found), found) from None

    def read(self, document: object) -> Entry:
        """What a configuration names, checked as far as that needs no plug-in: one that was taken
        out is refused where a run is made (`problem_with`), not where a stored one is read."""
        entry = self.parse(document)
        if not is_plugin_name(entry.name):
            self.choose(entry.name, entry.options)
        return entry

    def parse(self, document: object) -> Entry:
        """`exact`, `{numeric: {tolerance: 0.1}}`, or `{name: numeric, tolerance: 0.1}`, where the
        options may also stand under `options`."""
        if isinstance(document, str):
            return Entry(document, {})
        if not isinstance(document, Mapping) or ("name" not in document and len(document) != 1):
            raise ValueError(self.how_written)
        if "name" in document:
            return self._with_options_beside(document)
        name, options = next(iter(document.items()))
        return Entry(self._name(name), self._options(name, options))

    def _with_options_beside(self, document: Mapping[Any, Any]) -> Entry:
        beside = {key: item for key, item in document.items() if key not in ("name", "options")}
        nested = self._options(document["name"], document.get("options"))
        if nested and beside:
            raise ValueError(
                f"Options stand beside the name of a {self.word}, or as `options`, not both."
            )
        return Entry(self._name(document["name"]), nested or self._options("", beside))

    def _name(self, name: object) -> str:
        if not isinstance(name, str):
            self.find(name)
        return str(name)

    def _options(self, name: object, options: object) -> dict[str, Any]:
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(
                f"The options of a {self.word} are written as {{{name}: {{option: value}}}}, "
                f"not as {type(options).__name__}."
            )
        return {str(key): value for key, value in (options or {}).items()}

    @property
    def how_written(self) -> str:
        return (
            f"A {self.word} is a name, as in {next(iter(self.ours))}, or a name with its options, "
            f"as in {self.example}."
        )

    def problem_with(self, name: str, options: Mapping[str, Any]) -> str:
        """What only the installed plug-ins can tell. Empty: nothing is wrong."""
        try:
            self.choose(name, options)
        except ValueError as error:
            return str(error)
        return ""

    def describe(self) -> list[Description]:
        """For forms: the recommended one first."""
        found = [self.describe_one(name) for name in self]
        return sorted(found, key=lambda each: not each.is_recommended)

    def describe_one(self, name: str) -> Description:
        thing = self[name]
        return Description(
            name,
            label_of(name, thing),
            summary_of(thing),
            thing.version,
            describe_options(thing.options_model()),
            name == self.recommended,
        )


def complaints(name: str, error: ValidationError) -> list[WrongOption]:
    found = []
    for problem in error.errors(include_url=False, include_context=False):
        where = [name, *map(str, problem["loc"])]
        told = problem["msg"].removeprefix("Value error, ")
        found.append(WrongOption(".".join(where[1:]), f"{'.'.join(where)}: {told}"))
    return found


def subclass_of(base: type[Any]) -> Callable[[object], Any]:
    """Adopts classes derived from a base, and not the base itself, which a package may export."""

    def adopt(plugin: object) -> Any:
        is_one = isinstance(plugin, type) and issubclass(plugin, base) and plugin is not base
        return plugin if is_one else None

    return adopt
