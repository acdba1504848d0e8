"""One way to end a line: browsers send CRLF from a text box, files mostly LF, and to a model and to
the cache these are different prompts."""

from typing import Any

from workers.engine.errors import ConfigurationError, Problem
from workers.engine.spec.depth import TOO_DEEP, is_too_deep


def plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def with_plain_line_ends(document: Any) -> Any:
    """A copy of a document that somebody hands in, every text in it with plain line ends.

    Not for the documents of stored runs: their candidates' keys were made of them as they are.
    """
    if is_too_deep(document):
        raise ConfigurationError([Problem("", f"This is {TOO_DEEP}")])
    return _plain(document)


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain_line_ends(value)
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
