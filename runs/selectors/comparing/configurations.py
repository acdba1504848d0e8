"""What was set up differently: only the keys that differ, side by side."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from runs.selectors.comparing.sides import Side

MOST_KEYS = 60  # more is another configuration, not a changed one
LONGEST = 300  # characters of a value
ABSENT = "–"


class DifferingKey(NamedTuple):
    key: str
    values: list[str]


class Differing(NamedTuple):
    keys: list[DifferingKey]
    more: int


def differing_keys(sides: Sequence[Side]) -> Differing:
    flat = [dict(flatten(set_up(side))) for side in sides]
    keys = list(dict.fromkeys(key for one in flat for key in one))
    found = [
        DifferingKey(key, [shortened(one[key]) if key in one else ABSENT for one in flat])
        for key in keys
        if len({one.get(key, ABSENT) for one in flat}) > 1
    ]
    return Differing(found[:MOST_KEYS], max(0, len(found) - MOST_KEYS))


def set_up(side: Side) -> dict[str, Any]:
    """The document as it was frozen, and what else may have moved a score."""
    found = dict(side.document)
    if side.candidate is not None:
        found["candidate"] = next(iter(side.candidates.values()), "")
    found["code_version"] = side.facts.get("code_version", "")
    return found


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from flatten(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple) and value:
        for place, inner in enumerate(value):
            yield from flatten(inner, f"{path}[{place}]")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
