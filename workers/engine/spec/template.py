"""Fills a prompt with a case's fields: `{{name}}` and nothing else, in one pass."""

import re
from collections.abc import Iterable, Mapping

from workers.engine.errors import EngineError

MAX_BYTES = 256 * 1024  # of the filled prompt; a case is data, and data must not fill the memory
MOST_NAMES_SHOWN = 20  # a wide dataset would make the message unreadable

PLACEHOLDER = re.compile(r"\{\{[ \t]*([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*\}\}")


class TemplateError(EngineError):
    """A prompt cannot be filled from this case."""


def names_in(template: str) -> list[str]:
    """The fields a template asks for, each once, in the order of their first use."""
    return list(dict.fromkeys(PLACEHOLDER.findall(template)))


def render(template: str, fields: Mapping[str, str]) -> str:
    """Put the fields' values in place of their names. What a value contains stays as it is."""
    if "{{" not in template:
        _check_size(_bytes_in(template))
        return template
    unknown = [name for name in names_in(template) if name not in fields]
    if unknown:
        raise TemplateError(_unknown_names(unknown, fields))
    pieces: list[str] = []
    size = end = 0
    for match in PLACEHOLDER.finditer(template):
        for piece in (template[end : match.start()], fields[match[1]]):
            pieces.append(piece)
            size += _bytes_in(piece)
        end = match.end()
        _check_size(size)  # before the pieces are joined: many large values must not be copied
    pieces.append(template[end:])
    _check_size(size + _bytes_in(pieces[-1]))
    return "".join(pieces)


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise TemplateError(
            f"The filled prompt is larger than {MAX_BYTES // 1024} KB. "
            "Shorten the prompt or the fields it names."
        )


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _unknown_names(unknown: Iterable[str], fields: Mapping[str, str]) -> str:
    wanted = ", ".join(f"{{{{{name}}}}}" for name in unknown)
    known = sorted(fields)
    shown = ", ".join(known[:MOST_NAMES_SHOWN]) or "none"
    if len(known) > MOST_NAMES_SHOWN:
        shown += f" and {len(known) - MOST_NAMES_SHOWN} more"
    return f"The prompt asks for {wanted}, which the case does not have. Its fields are: {shown}."
