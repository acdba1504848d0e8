"""What the host's operator installed and named in EVALSITE_PLUGINS: nothing else is ever imported.

An entry is `package.module.Name`, or `package.module` for all that its `__all__` lists.
Configurations name an object by its whole path; each registry (scorers, strategies, agents) says
what it takes.
"""

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType

from workers.engine.errors import EngineError

SETTING = "EVALSITE_PLUGINS"
PLUGINS: dict[str, object] = {}


class PluginError(EngineError):
    """A name in the setting that leads nowhere. It stops the start."""


def install_plugins(names: Iterable[str]) -> None:
    """Import what is named, once, when a process starts."""
    for name in names:
        PLUGINS.update(load_plugin(name))


def is_plugin_name(name: str) -> bool:
    """Whether it is a path: our own names have no dots."""
    return "." in name


def load_plugin(name: str) -> dict[str, object]:
    module = find_module(name)
    if module is None:
        parent, _, attribute = name.rpartition(".")
        module = find_module(parent) if parent else None
        if module is None or not hasattr(module, attribute):
            raise PluginError(f"{SETTING} names {name!r}, which is not there. {advice(name)}")
        return {name: getattr(module, attribute)}
    if not hasattr(module, "__all__"):
        raise PluginError(
            f"{SETTING} names the module {name!r}, which has no __all__. "
            f"List there what it offers, or name one of it, as in {name}.Name."
        )
    return {f"{name}.{one}": getattr(module, one) for one in module.__all__}


def find_module(name: str) -> ModuleType | None:
    """None if there is no module of that name."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise PluginError(broken(name, error)) from error
    except Exception as error:  # it is not ours, and may fail as it likes
        raise PluginError(broken(name, error)) from error


def broken(name: str, error: Exception) -> str:
    told = f"{type(error).__name__}: {error}"
    return f"{SETTING} names {name!r}, which cannot be imported ({told}). {advice(name)}"


def advice(name: str) -> str:
    return f"Install the package of {name.partition('.')[0]!r} here, or take the name out."
