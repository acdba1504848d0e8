"""Policies: who plays. Ours are listed here, installed ones in EVALSITE_PLUGINS."""

from workers.engine.named import Registry
from workers.engine.named.registry import subclass_of
from workers.engine.policies.base import CPU, AskingPolicy, AskText, Policy, Seat
from workers.engine.policies.chat import Chat
from workers.engine.policies.linear import Linear
from workers.engine.policies.network import Network
from workers.engine.policies.plain import Cycle, RandomPolicy, Still
from workers.engine.policies.scripted import Balance, Seeker

__all__ = ["CPU", "POLICIES", "AskText", "AskingPolicy", "Policy", "Seat", "adopt_policy"]

BASES = (Policy, AskingPolicy)


def adopt_policy(plugin: object) -> type[Policy] | None:
    found: type[Policy] | None = subclass_of(Policy)(plugin)
    return None if found in BASES else found


POLICIES: Registry[Policy] = Registry(
    "policy",
    {
        "random": RandomPolicy,
        "still": Still,
        "cycle": Cycle,
        "seeker": Seeker,
        "balance": Balance,
        "linear": Linear,
        "network": Network,
        "chat": Chat,
    },
    adopt=adopt_policy,
    example="{linear: {seed: 3}}",
    recommended="random",
)
