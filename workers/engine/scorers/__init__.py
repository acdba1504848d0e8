"""Scorers turn an answer into a value. To add one: copy exact.py, then add its line below."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticUndefined

from workers.engine.scorers.base import Scorer
from workers.engine.scorers.contains import Contains
from workers.engine.scorers.exact import Exact
from workers.engine.scorers.numeric import Numeric
from workers.engine.scorers.regex import Regex

__all__ = ["SCORERS", "Scorer", "build_scorer", "describe", "parse_scorer"]

SCORERS: dict[str, type[Scorer]] = {
    "exact": Exact,
    "contains": Contains,
    "regex": Regex,
    "numeric": Numeric,
}


class ScorerEntry(NamedTuple):
    """A scorer as a configuration names it."""

    name: str
    options: dict[str, Any]


class OptionDescription(NamedTuple):
    """One option of a scorer, for a form."""

    name: str
    label: str
    kind: str  # "boolean", "number" or "text"
    default: Any
    help: str


class ScorerDescription(NamedTuple):
    name: str
    summary: str
    options: tuple[OptionDescription, ...]


def parse_scorer(entry: object) -> ScorerEntry:
    """Read `exact` or `{numeric: {tolerance: 0.001}}`. ValueError says what is allowed."""
    if isinstance(entry, str):
        return ScorerEntry(_known(entry), {})
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise ValueError(
            "A scorer is a name, as in exact, or a name with its options, "
            "as in {numeric: {tolerance: 0.001}}."
        )
    name, options = next(iter(entry.items()))
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(
            f"The options of a scorer are written as {{{name}: {{option: value}}}}, "
            f"not as {type(options).__name__}."
        )
    return ScorerEntry(_known(name), {str(key): value for key, value in (options or {}).items()})


def build_scorer(name: str, options: Mapping[str, Any]) -> Scorer:
    """A scorer ready to judge. ValueError lists everything wrong with its options."""
    scorer = SCORERS[_known(name)]
    unknown = [option for option in options if option not in scorer.model_fields]
    if unknown:
        raise ValueError(
            f"The scorer {name} has no option {', '.join(map(repr, unknown))}. "
            f"It takes: {', '.join(scorer.model_fields)}."
        )
    try:
        return scorer.model_validate(dict(options))
    except ValidationError as error:
        raise ValueError("; ".join(_complaints(name, error))) from None


def describe() -> list[ScorerDescription]:
    """What a form offers: every scorer with its options."""
    return [
        ScorerDescription(name, scorer.summary, tuple(_options_of(scorer)))
        for name, scorer in SCORERS.items()
    ]


def _known(name: object) -> str:
    if not isinstance(name, str) or name not in SCORERS:
        raise ValueError(f"Unknown scorer {name!r}. Choose one of: {', '.join(SCORERS)}.")
    return name


def _complaints(name: str, error: ValidationError) -> list[str]:
    complaints = []
    for problem in error.errors(include_url=False, include_context=False):
        where = ".".join([name, *map(str, problem["loc"])])
        complaints.append(f"{where}: {problem['msg'].removeprefix('Value error, ')}")
    return complaints


def _options_of(scorer: type[Scorer]) -> list[OptionDescription]:
    kinds: dict[object, str] = {bool: "boolean", float: "number", int: "number"}
    return [
        OptionDescription(
            name=name,
            label=field.title or name.replace("_", " ").capitalize(),
            kind=kinds.get(field.annotation, "text"),
            default=None if field.default is PydanticUndefined else field.default,
            help=field.description or "",
        )
        for name, field in scorer.model_fields.items()
    ]
