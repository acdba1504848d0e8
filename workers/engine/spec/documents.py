"""Reads what a person wrote as YAML or JSON into plain values, before the schema judges them, and
writes it so that reading gives the same again."""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.depth import MAX_DEPTH, TOO_DEEP, is_too_deep, without_deep_parts

MAX_BYTES = 256 * 1024  # of text; a person writes some 5 KB, and rows belong into a dataset
MAX_VALUES = 50_000  # half a second of reading, where 256 KB of commas would be a whole one
LONGEST_NUMBER = 300  # characters; 1:1:1:... is a number of YAML, and reading it is quadratic
NO_WIDTH = 2**31 - 1  # columns, the largest number of libyaml
ODD_LINE_BREAKS = "\r\x85\u2028\u2029\ufeff"
TOO_LARGE = (
    f"This is larger than {MAX_BYTES // 1024} KB. Import the rows as a dataset, and write its name "
    "in place of the rows."
)
NOT_PLAIN = "Use texts, numbers, true, false, null, lists and mappings only."
PLAIN_TAGS = {None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))}

# libyaml in C, as in every wheel of PyYAML; built without it, PyYAML takes six times as long.
FastLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FastDumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class PlainLoader(FastLoader):  # type: ignore[misc]
    """YAML without what JSON cannot say, for texts that `_check_events` has let through."""


PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _read_number(loader: Any, node: yaml.ScalarNode) -> Any:
    if len(node.value) > LONGEST_NUMBER:
        raise _refusal(f"a number has more than {LONGEST_NUMBER} characters", node)
    return yaml.SafeLoader.yaml_constructors[node.tag](loader, node)


PlainLoader.add_constructor("tag:yaml.org,2002:int", _read_number)
PlainLoader.add_constructor("tag:yaml.org,2002:float", _read_number)


def read_document(text: str) -> Any:
    """The value of a YAML or JSON text. ConfigurationError says where it cannot be read."""
    if _size(text) > MAX_BYTES:
        raise ConfigurationError([Problem("", TOO_LARGE)])
    try:
        value = _read(text.removeprefix("\ufeff"))
        # Through JSON: what cannot be stored as JSON (NaN, odd keys) is found here, not later.
        return json.loads(json.dumps(value, allow_nan=False))
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark, text)
        raise _problem(f"{error.problem or error.context}{place}.") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise _problem(f"{error}. {NOT_PLAIN}") from None


def _read(text: str) -> Any:
    if text.lstrip()[:1] in ("{", "["):
        try:
            return _shallow(json.loads(text))
        except RecursionError:
            raise ConfigurationError([Problem("", f"This is {TOO_DEEP}")]) from None
        except ValueError:
            pass  # YAML may start with a brace too
    _check_events(text)
    return yaml.load(text, Loader=PlainLoader)  # noqa: S506, TID251 - a safe loader, made safer


def _shallow(value: Any) -> Any:
    if is_too_deep(value):
        raise ConfigurationError([Problem("", f"This is {TOO_DEEP}")])
    return value


def _check_events(text: str) -> None:
    """Before the values are built: libyaml's builder overflows the stack of the process on deep
    nesting, and a few aliases of aliases stand for billions of values."""
    depth = values = 0
    for event in yaml.parse(text, Loader=FastLoader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            raise _refusal("aliases (*name) are not read; write the value out", event)
        elif isinstance(event, yaml.NodeEvent):
            values += 1
            depth += isinstance(event, yaml.CollectionStartEvent)
            _check_node(event, depth, values)
        elif isinstance(event, yaml.DocumentStartEvent) and event.tags:
            raise _refusal("%TAG is not read", event)


def _check_node(event: yaml.NodeEvent, depth: int, values: int) -> None:
    if depth > MAX_DEPTH:
        raise _refusal(f"nested too deeply (more than {MAX_DEPTH} levels)", event)
    if values > MAX_VALUES:
        raise _refusal(f"more than {MAX_VALUES:,} values; import rows as a dataset", event)
    if event.tag not in PLAIN_TAGS:  # type: ignore[attr-defined]
        raise _refusal("tags such as !!set are not read; write the plain value", event)


def _refusal(problem: str, at: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=at.start_mark)


class PlainDumper(FastDumper):  # type: ignore[misc]
    """YAML that PlainLoader reads: without aliases, and texts of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_text(dumper: Any, text: str) -> Any:
    style = None
    if any(character in text for character in ODD_LINE_BREAKS):
        style = '"'  # only there they are escaped; elsewhere they would be read as a space
    elif "\n" in text.strip("\n"):
        style = "|"  # the emitter takes quotes where a block cannot hold the text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


PlainDumper.add_representer(str, _write_text)


def write_document(document: Mapping[str, Any]) -> str:
    """As YAML in the order given; one that is too large to be read back as JSON, which is YAML,
    too, and takes a hundredth of the time. What is nested too deeply to be read back is left out:
    older versions of the site stored such documents."""
    plain = without_deep_parts(dict(document))
    if _size(json.dumps(plain, ensure_ascii=False)) <= MAX_BYTES:
        text: str = yaml.dump(
            plain, Dumper=PlainDumper, sort_keys=False, allow_unicode=True, width=100
        )
        if _size(text) <= MAX_BYTES:
            return text
    return json.dumps(plain, indent=1) + "\n"


def write_line(name: str, value: Any) -> str:
    """One field on one line, as a person types it: subject: [algebra, logic]."""
    text: str = yaml.dump(
        without_deep_parts({name: value}),
        Dumper=PlainDumper,
        default_flow_style=True,
        allow_unicode=True,
        width=NO_WIDTH,
    )
    return text.strip().removeprefix("{").removesuffix("}")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _place(mark: yaml.Mark | None, text: str) -> str:
    if mark is None:
        return ""
    last = len(text.splitlines()) or 1
    if mark.line >= last:  # of what is never closed, libyaml tells the line after the last
        return f" at the end, in line {last}"
    return f" in line {mark.line + 1}, column {mark.column + 1}"


def _problem(message: str) -> ConfigurationError:
    return ConfigurationError([Problem("", f"This is not YAML or JSON: {message}")])
