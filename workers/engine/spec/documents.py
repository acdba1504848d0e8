"""Reads what a person wrote as YAML or JSON into plain values, before the schema judges them, and
writes it so that reading gives the same again."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any

import yaml

from workers.engine.errors import ConfigurationError, Problem

MAX_YAML_BYTES = 1024 * 1024  # seconds of reading; JSON of the same size takes milliseconds
MAX_JSON_BYTES = 20 * 1024 * 1024
ODD_LINE_BREAKS = "\r\x85\u2028\u2029\ufeff"
NOT_PLAIN = "Use texts, numbers, true, false, null, lists and mappings only."


class PlainLoader(yaml.SafeLoader):
    """YAML without what JSON cannot say: aliases, and dates that are not quoted."""

    # A few aliases of aliases stand for billions of values.
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases (*name) are not read; write the value out",
                problem_mark=event.start_mark,
            )
        return super().compose_node(parent, index)


PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_document(text: str) -> Any:
    """The value of a YAML or JSON text. ConfigurationError says where it cannot be read."""
    try:
        value = _read(text.removeprefix("\ufeff"))
        # Through JSON: what cannot be stored as JSON (NaN, odd keys) is found here, not later.
        return json.loads(json.dumps(value, allow_nan=False))
    except yaml.MarkedYAMLError as error:
        raise _problem(f"{error.problem or error.context}{_place(error.problem_mark)}.") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise _problem(f"{error}. {NOT_PLAIN}") from None
    except RecursionError:
        raise _problem("nested too deeply.") from None


def _read(text: str) -> Any:
    size = len(text.encode("utf-8", "surrogatepass"))
    if text.lstrip()[:1] in ("{", "[") and size <= MAX_JSON_BYTES:
        try:
            return json.loads(text)
        except ValueError:
            pass  # YAML may start with a brace too
    if size > MAX_YAML_BYTES:
        raise ValueError(
            f"larger than {MAX_YAML_BYTES // 1024} KB. Import the rows as a dataset and name it"
        )
    return yaml.load(text, Loader=PlainLoader)  # noqa: S506, TID251 - a safe loader, made safer


class PlainDumper(yaml.SafeDumper):
    """YAML that PlainLoader reads: without aliases, and texts of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_text(dumper: PlainDumper, text: str) -> yaml.ScalarNode:
    style = None
    if any(character in text for character in ODD_LINE_BREAKS):
        style = '"'  # only there they are escaped; elsewhere they would be read as a space
    elif "\n" in text.strip("\n"):
        style = "|"  # the emitter takes quotes where a block cannot hold the text
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


PlainDumper.add_representer(str, _write_text)


def write_document(document: Mapping[str, Any]) -> str:
    """As YAML in the order given; one that is too large to be read back as YAML as JSON, which is
    YAML, too."""
    text = yaml.dump(
        dict(document), Dumper=PlainDumper, sort_keys=False, allow_unicode=True, width=100
    )
    if len(text.encode("utf-8", "surrogatepass")) <= MAX_YAML_BYTES:
        return text
    return json.dumps(document, indent=1) + "\n"


def write_line(name: str, value: Any) -> str:
    """One field on one line, as a person types it: subject: [algebra, logic]."""
    text = yaml.dump(
        {name: value}, Dumper=PlainDumper, default_flow_style=True, allow_unicode=True, width=inf
    )
    return text.strip().removeprefix("{").removesuffix("}")


def _place(mark: yaml.Mark | None) -> str:
    return f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _problem(message: str) -> ConfigurationError:
    return ConfigurationError([Problem("", f"This is not YAML or JSON: {message}")])
