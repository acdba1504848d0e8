"""Scorers turn an answer into a value. To add one: copy exact.py, then add its line below."""

from collections.abc import Mapping
from typing import Any

from workers.engine.named import Registry
from workers.engine.named.registry import subclass_of
from workers.engine.scorers.base import Scorer
from workers.engine.scorers.contains import Contains
from workers.engine.scorers.exact import Exact
from workers.engine.scorers.numeric import Numeric
from workers.engine.scorers.regex import Regex

__all__ = ["SCORERS", "Scorer", "build_scorer"]

SCORERS: Registry[Scorer] = Registry(
    "scorer",
    {
        "exact": Exact,
        "contains": Contains,
        "regex": Regex,
        "numeric": Numeric,
    },
    adopt=subclass_of(Scorer),
    example="{numeric: {tolerance: 0.001}}",
)


def build_scorer(name: str, options: Mapping[str, Any]) -> Scorer:
    """A scorer ready to judge. ValueError lists everything wrong with its options."""
    scorer: Scorer = SCORERS.choose(name, options).options
    return scorer
