"""Agents: whole pipelines in Python. Ours are listed here, installed ones in EVALSITE_PLUGINS."""

from collections.abc import Mapping
from typing import Any, cast

from pydantic import ValidationError

from workers.engine.agents.base import Agent, Call, PlainCall
from workers.engine.agents.functions import agent_of, is_agent_function
from workers.engine.agents.self_consistency import SelfConsistency
from workers.engine.plugins import PLUGINS, SETTING

__all__ = ["AGENTS", "Agent", "Call", "PlainCall", "build_agent", "find_agent"]

AGENTS: dict[str, type[Agent]] = {
    "self_consistency": SelfConsistency,
}


def find_agent(name: str) -> type[Agent]:
    """ValueError says which there are."""
    known = known_agents()
    if name not in known:
        raise ValueError(
            f"Unknown agent {name!r}. Choose one of: {', '.join(known)}. "
            f"Agents of installed packages are named in {SETTING}, by the host's operator."
        )
    return known[name]


def known_agents() -> dict[str, type[Agent]]:
    found = dict(AGENTS)
    for name, thing in PLUGINS.items():
        if isinstance(thing, type) and issubclass(thing, Agent):
            found[name] = thing
        elif is_agent_function(thing):
            found[name] = agent_of(cast("Any", thing))
    return found


def build_agent(name: str, options: Mapping[str, Any]) -> Agent:
    """An agent ready to run. ValueError lists everything wrong with its options."""
    agent = find_agent(name)
    try:
        return agent.model_validate(dict(options))
    except ValidationError as error:
        takes = ", ".join(agent.model_fields) or "no options"
        told = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg'].removeprefix('Value error, ')}"
            for one in error.errors(include_url=False, include_context=False)
        )
        raise ValueError(f"{told}. The agent {name} takes: {takes}.") from None
