"""How a configuration names its strategy."""

from typing import Any, ClassVar

from workers.engine.named import NamedChoice, Registry
from workers.engine.strategies import SELECTIONS


class StrategyChoice(NamedChoice):
    """A strategy by name, or with options, as in {name: threshold, threshold: 0.8}."""

    registry: ClassVar[Registry[Any]] = SELECTIONS
