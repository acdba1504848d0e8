"""Tags of a row: several in one cell, as a JSON list or separated by commas, semicolons or bars."""

import json
import re

SEPARATOR = re.compile(r"[,;|\n]")


def tags_in(cell: str) -> list[str]:
    """In their order, each once."""
    parts = _listed(cell) if cell.lstrip().startswith("[") else None
    found = SEPARATOR.split(cell) if parts is None else parts
    return list(dict.fromkeys(filter(None, (part.strip() for part in found))))


def _listed(cell: str) -> list[str] | None:
    """None: no JSON list, whatever it begins with."""
    try:
        parts = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return [part if isinstance(part, str) else json.dumps(part) for part in parts]
