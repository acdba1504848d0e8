"""Agents: whole pipelines in Python. Ours are listed here, installed ones in EVALSITE_PLUGINS."""

from collections.abc import Mapping
from typing import Any, cast

from workers.engine.agents.base import Agent, Call, PlainCall
from workers.engine.agents.functions import agent_of, is_agent_function
from workers.engine.agents.self_consistency import SelfConsistency
from workers.engine.named import Registry
from workers.engine.named.registry import subclass_of

__all__ = ["AGENTS", "Agent", "Call", "PlainCall", "build_agent"]


def adopt_agent(plugin: object) -> type[Agent] | None:
    """A class, or a function that runs one."""
    if is_agent_function(plugin):
        return agent_of(cast("Any", plugin))
    return cast("type[Agent] | None", subclass_of(Agent)(plugin))


AGENTS: Registry[Agent] = Registry(
    "agent",
    {
        "self_consistency": SelfConsistency,
    },
    adopt=adopt_agent,
    example="{self_consistency: {samples: 3}}",
)


def build_agent(name: str, options: Mapping[str, Any]) -> Agent:
    """An agent ready to run. ValueError lists everything wrong with its options."""
    agent: Agent = AGENTS.choose(name, options).options
    return agent
