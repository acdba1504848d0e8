"""Every registry of named things, and what is wrong with the plug-ins that they are to take."""

import inspect
import sys
from typing import Any, NamedTuple

from pydantic import PydanticUserError

from workers.engine.agents import AGENTS
from workers.engine.environments import ENVIRONMENTS
from workers.engine.kinds import KINDS
from workers.engine.named import Registry
from workers.engine.plugins import PLUGINS
from workers.engine.policies import POLICIES
from workers.engine.scorers import SCORERS
from workers.engine.strategies import SELECTIONS

REGISTRIES: tuple[Registry[Any], ...] = (
    SCORERS,
    SELECTIONS,
    AGENTS,
    *(own.registry for kind in KINDS.values() for own in kind.own_registries),
)
SENT: tuple[Registry[Any], ...] = (SCORERS, POLICIES, ENVIRONMENTS)  # to other processes


class PluginProblem(NamedTuple):
    name: str
    message: str
    hint: str
    stops: bool  # whether pages or runs would break on it


def plugin_problems() -> list[PluginProblem]:
    return [found for name in PLUGINS if (found := problem_of(name))]


def problem_of(name: str) -> PluginProblem | None:
    registry = next((one for one in REGISTRIES if name in one), None)
    if registry is None:
        *words, last = (one.word for one in REGISTRIES)
        told = f"{name} is no {', '.join(words)} or {last}, so that no configuration can name it."
        return PluginProblem(name, told, "Take it out of EVALSITE_PLUGINS.", stops=False)
    thing = registry[name]
    if inspect.isabstract(thing):
        missing = ", ".join(sorted(thing.__abstractmethods__))
        told = f"The {registry.word} {name} cannot be used: it does not define {missing}."
        return PluginProblem(name, told, "Define it, or take the name out.", stops=True)
    if registry in SENT and not is_importable(thing):
        told = f"The {registry.word} {name} cannot be sent to the process that it works in."
        hint = f"Define {thing.__qualname__} at the top level of the module {thing.__module__}."
        return PluginProblem(name, told, hint, stops=True)
    try:
        registry.describe_one(name)
    except (PydanticUserError, TypeError, ValueError) as error:
        told = f"The options of the {registry.word} {name} cannot be described: {error}"
        hint = "Give every option a type that JSON has, or take the name out of EVALSITE_PLUGINS."
        return PluginProblem(name, told, hint, stops=True)
    return None


def is_importable(thing: type) -> bool:
    """Whether another process finds the same by the names that it goes by."""
    found: object = sys.modules.get(thing.__module__)
    for name in thing.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is thing
