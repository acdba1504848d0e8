"""Names of the guides that stand in one flat configuration there, and are two things here: how
prompts evolve (`strategy`), and how fast they are evaluated (`limits`)."""

from collections.abc import Mapping
from typing import Any

from workers.engine.named.registry import Entry
from workers.engine.spec.presets import NO_ASYNC, OTHER_NAMES

AS_LIMITS = {
    **{name: name for name in (*OTHER_NAMES, NO_ASYNC)},
    "parallel_eval": NO_ASYNC,
    "max_workers": "max_concurrent",
}
"""Options of a strategy in the guides, and the limits that they are."""

AS_OPTIONS = {"top_k_prompts": "num_candidates"}


def sort_names(chosen: Entry, limits: object) -> tuple[Entry, object]:
    """The strategy with its own options, and the limits with what was given among them."""
    given = {name: one for name, one in chosen.options.items() if name in AS_LIMITS}
    kept = {
        AS_OPTIONS.get(name, name): one
        for name, one in chosen.options.items()
        if name not in AS_LIMITS
    }
    moved = {AS_LIMITS[name]: one for name, one in given.items() if one is not None}
    if not moved:
        return Entry(chosen.name, kept), limits
    known: Mapping[str, Any] = limits if isinstance(limits, Mapping) else {}
    if twice := [name for name in moved if name in known]:
        names = ", ".join(twice)
        raise ValueError(f"Given under strategy and under limits: {names}. Give it once.")
    return Entry(chosen.name, kept), {**known, **moved}
