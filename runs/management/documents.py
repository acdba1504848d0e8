"""Finds the configuration that a command names: a file, or one that is stored."""

from argparse import ArgumentParser
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from runs.management.dataset_options import add_slice, put_slice
from runs.management.file_rows import put_rows
from runs.models import Configuration
from runs.selectors.configurations import (
    configuration_names,
    deleted_text,
    describes_same,
    find_configuration,
    find_deleted,
)
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.documents import read_document
from workers.engine.spec.line_ends import with_plain_line_ends

SUFFIXES = (".yaml", ".yml", ".json")


def add_document(parser: ArgumentParser) -> None:
    """What `load_document` takes, as arguments of a command."""
    parser.add_argument(
        "configuration",
        metavar="FILE_OR_NAME",
        help="YAML or JSON file (see docs/CONFIGURATION.md), or the name of a stored configuration",
    )
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="change a field, as in limits.max_concurrent=50; may be given several times",
    )
    add_slice(parser)


def load_document(options: dict[str, Any]) -> dict[str, Any]:
    """The document of FILE_OR_NAME with every `--set` and the slice put into it. ConfigurationError
    says what is wrong."""
    choice = options["configuration"]
    path = Path(choice)
    document = read_file(path) if path.is_file() else read_stored(choice)
    for change in options["changes"]:
        put(document, change)
    put_rows(document, path.parent)
    put_slice(document, options)
    plain: dict[str, Any] = with_plain_line_ends(document)
    return plain


def stored_unchanged(options: dict[str, Any], document: dict[str, Any]) -> Configuration | None:
    """The stored configuration that a run of the document is a run of: nothing was changed."""
    name = options.get("configuration")  # other commands make their document themselves
    if not name or Path(name).is_file():
        return None
    stored = find_configuration(name)
    return stored if stored is not None and describes_same(document, stored) else None


def read_file(path: Path) -> dict[str, Any]:
    document = read_document(read_text(path))
    if not isinstance(document, dict):
        raise problem(f"{path} is no configuration: it has no fields such as dataset and prompts.")
    document.setdefault("name", path.stem)
    return document


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise problem(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise problem(f"{path} is not text in UTF-8.") from None


def read_stored(name: str) -> dict[str, Any]:
    stored = find_configuration(name)
    if stored is not None:
        return stored.as_document
    if (deleted := find_deleted(name)) is not None:
        raise problem(deleted_text(deleted))
    if name.endswith(SUFFIXES) or "/" in name:
        raise problem(f"There is no file {name}.")
    names = configuration_names()
    near = get_close_matches(name, names, n=3, cutoff=0.4) or names[:10]
    raise problem(
        f"There is no file and no stored configuration {name!r}. "
        f"Stored configurations: {', '.join(near) or 'none yet; give a YAML file'}."
    )


def put(document: dict[str, Any], change: str) -> None:
    """`limits.max_concurrent=50` or `models.0=simulated/sim-large`; the value is read as YAML."""
    path, equals, text = change.partition("=")
    if not equals or not path:
        raise problem(f"--set {change}: write path=value, as in limits.max_concurrent=50.")
    *parents, last = path.split(".")
    if parents[:1] == ["dataset"] and isinstance(document.get("dataset"), str):
        document["dataset"] = {"name": document["dataset"]}  # the short form has no parts
    place: Any = document
    for depth, name in enumerate(parents):
        place = step_into(place, name, ".".join(parents[: depth + 1]))
    value = read_document(text) if text else ""
    if isinstance(place, list):
        place[index_in(place, last, path)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise problem(f"--set {path}: {'.'.join(parents)} is {place!r}, which has no fields.")


def step_into(place: Any, name: str, path: str) -> Any:
    if isinstance(place, list):
        return place[index_in(place, name, path)]
    if isinstance(place, dict):
        return place.setdefault(name, {})
    raise problem(f"--set {path}: the part before {name} is {place!r}, which has no fields.")


def index_in(items: list[Any], name: str, path: str) -> int:
    if name.isdecimal() and int(name) < len(items):
        return int(name)
    if not items:
        raise problem(f"--set {path}: the list is empty, so {name!r} is not in it.")
    raise problem(
        f"--set {path}: {name!r} is not in the list. Give a number, 0 to {len(items) - 1}."
    )


def problem(message: str) -> ConfigurationError:
    return ConfigurationError([Problem("", message)])
