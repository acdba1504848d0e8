"""How deeply lists and mappings may be nested in what somebody sends.

Most of what reads, writes and shows a value calls itself for every level, so that a few thousand
brackets end in an error; a stored one would break its pages for good.
"""

from collections.abc import Iterable, Mapping
from typing import Any

MAX_DEPTH = 64
TOO_DEEP = f"nested too deeply. At most {MAX_DEPTH} lists or objects may stand inside each other."
LEFT_OUT = "… (nested too deeply to be shown)"


def is_too_deep(value: Any) -> bool:
    """Level by level, so that the answer does not depend on the stack that is left."""
    level = [value] if is_nested(value) else []
    for _ in range(MAX_DEPTH):
        level = [part for whole in level for part in parts_of(whole) if is_nested(part)]
        if not level:
            return False
    return True


def without_deep_parts(value: Any) -> Any:
    """A value that can be shown: the same one, or a copy in which LEFT_OUT stands for the lists
    and objects below the limit."""
    return _cut(value, MAX_DEPTH) if is_too_deep(value) else value


def _cut(value: Any, levels: int) -> Any:
    if not is_nested(value):
        return value
    if not levels:
        return LEFT_OUT
    if isinstance(value, Mapping):
        return {name: _cut(part, levels - 1) for name, part in value.items()}
    return [_cut(part, levels - 1) for part in value]


def is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple | dict)


def parts_of(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, Mapping) else value
