"""Named things with options: what a configuration may name, and what it may say about it.

Scorers, strategies and agents are each a Registry. Schema, validation, forms, reference and
plug-ins ask the registry, so a new thing is a class and a line.
"""

from workers.engine.named.choice import NamedChoice
from workers.engine.named.named import Description, Named, WithOptions
from workers.engine.named.options import OptionDescription, describe_options
from workers.engine.named.registry import Chosen, Registry, UnknownName, WrongOptions

__all__ = [
    "Chosen",
    "Description",
    "Named",
    "NamedChoice",
    "OptionDescription",
    "Registry",
    "UnknownName",
    "WithOptions",
    "WrongOptions",
    "describe_options",
]
