"""Environments: where policies play. Ours are listed here, installed ones in EVALSITE_PLUGINS."""

from workers.engine.environments.base import (
    DrawnWorld,
    Environment,
    OneStep,
    Space,
    Stats,
    Step,
    World,
    step_of_one,
)
from workers.engine.environments.grid import Grid
from workers.engine.environments.gymnasium_world import Gymnasium
from workers.engine.environments.mettagrid_world import Mettagrid
from workers.engine.environments.pettingzoo_world import PettingZoo
from workers.engine.named import Registry
from workers.engine.named.registry import subclass_of

__all__ = [
    "ENVIRONMENTS",
    "DrawnWorld",
    "Environment",
    "OneStep",
    "Space",
    "Stats",
    "Step",
    "World",
    "step_of_one",
]

ENVIRONMENTS: Registry[Environment] = Registry(
    "environment",
    {
        "grid": Grid,
        "gymnasium": Gymnasium,
        "pettingzoo": PettingZoo,
        "mettagrid": Mettagrid,
    },
    adopt=subclass_of(Environment),
    example="{grid: {size: 16}}",
    recommended="grid",
)
