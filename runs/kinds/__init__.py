"""What the site knows of each kind of run. To add one: a line below, and one in the engine's kinds.

They are named, not imported: queries, forms and commands ask a kind, and a kind is made of them.
"""

from functools import cache
from typing import TYPE_CHECKING

from django.utils.module_loading import import_string

if TYPE_CHECKING:
    from runs.kinds.base import Demo, SiteKind
    from runs.models import Run

__all__ = ["SITE_KINDS", "choosing_kinds", "every_demo", "every_kind", "kind_named", "kind_of"]

SITE_KINDS = {
    "evaluate": "runs.kinds.evaluate.EvaluateKind",
    "select": "runs.kinds.select.SelectKind",
    "evolve": "runs.kinds.evolve.EvolveKind",
    "rollout": "runs.kinds.rollout.RolloutKind",
    "mutate": "runs.kinds.mutate.MutateKind",
}


@cache
def kind_named(name: str) -> "SiteKind":
    made: SiteKind = import_string(SITE_KINDS[name])()
    return made


def kind_of(run: "Run") -> "SiteKind":
    return kind_named(run.kind)


def every_kind() -> "list[SiteKind]":
    return [kind_named(name) for name in SITE_KINDS]


def choosing_kinds() -> list[str]:
    return [kind.name for kind in every_kind() if kind.chooses]


def every_demo() -> "dict[str, Demo]":
    """By the kind that it shows."""
    return {kind.name: kind.demo for kind in every_kind() if kind.demo}
