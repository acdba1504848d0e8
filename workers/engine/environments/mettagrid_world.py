"""Mettagrid, the grid world that cogames plays in. Imported in the process that plays."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from pydantic import Field

from workers.engine.environments.base import Environment, Space, Stats, Step, World

MISSING = (
    "Mettagrid is not installed here. Install it beside the site (pip install -r "
    "requirements/mettagrid.lock), or choose a mission of the grid world."
)
AGENTS = 4
MOST_AGENTS = 64
WALL, HEART = "wall", "heart"


class MettagridWorld:
    """Hearts lie on the map, each is worth 1 to the agent that walks into it, and they do not come
    back. An observation has up to 500 tokens of three bytes each: place, feature and value."""

    def __init__(self, config: Any, hearts: int) -> None:
        self._config = config
        self._hearts = hearts
        self._simulation: Any = None
        self._sketch: Mapping[str, Any] | None = None
        self._open(0, 0)  # its spaces are only known then
        shape = self._core.observations().shape
        features = int(shape[1] * shape[2])
        self._names = [action.name for action in config.game.actions.actions()]
        self.spaces: Sequence[Space] = [Space(features, len(self._names))] * int(shape[0])

    def _open(self, seed: int, map_seed: int) -> None:
        """Not by its Simulator, which gives every further map another seed."""
        self.close()
        self._config.game.map_builder.seed = map_seed
        made = import_module("mettagrid.simulator.simulator").Simulation
        self._simulation = made(self._config, seed=seed)
        self._core = self._simulation._c_sim
        self._left = self._hearts
        self._lying = self._places(HEART)

    def reset(self, seed: int, map_seed: int) -> Sequence[Any]:
        self._open(seed % 2**31, map_seed % 2**32)
        self._sketch = {
            "form": "grid",
            "size": int(max(self._simulation.map_width, self._simulation.map_height)),
            "actions": [name.removeprefix("move_") for name in self._names],
            "walls": sorted(self._places(WALL).values()),
            "food": sorted(self._lying.values()),
            "agents": self._agents(),
        }
        return list(self._core.observations().copy())

    def step(self, actions: Sequence[Any]) -> Step:
        self._core.actions()[:] = [int(action) for action in actions]
        self._simulation.step()
        rewards = [float(reward) for reward in self._core.rewards()]
        self._left -= round(sum(rewards))
        return Step(list(self._core.observations().copy()), rewards, self._left <= 0)

    def stats(self) -> Stats:
        found = self._simulation.episode_stats
        return Stats(dict(found["game"]), [dict(each) for each in found["agent"]])

    def _places(self, name: str) -> dict[int, list[int]]:
        """Column and row, by the number of the agent or the object."""
        objects = self._simulation.grid_objects(ignore_types=[WALL] if name != WALL else [])
        return {
            each.get("agent_id", number): [int(each["c"]), int(each["r"])]
            for number, each in objects.items()
            if each["type_name"] == name
        }

    def _agents(self) -> list[list[int]]:
        return [place for _, place in sorted(self._places("agent").items())]

    def sketch(self) -> Mapping[str, Any] | None:
        return self._sketch

    def scene(self) -> Any:
        """Where the agents are; nothing grows; where hearts were taken."""
        lying = self._places(HEART)
        taken = [place for number, place in self._lying.items() if number not in lying]
        self._lying = lying
        return [self._agents(), [], taken]

    def close(self) -> None:
        if self._simulation is not None:
            self._simulation.close()
            self._simulation = None


class Mettagrid(Environment):
    """Agents on a map of Mettagrid look for hearts: `mettagrid/forage`."""

    label: ClassVar[str] = "Mettagrid"
    modules: ClassVar[frozenset[str]] = frozenset({"mettagrid"})

    size: int = Field(default=16, ge=5, le=64, description="Columns and rows, with the outer wall.")
    hearts: int = Field(default=32, ge=1, le=1000, description="How many lie on the map.")
    walls: int = Field(default=16, ge=0, le=1000, description="Walls inside, one place each.")

    @classmethod
    def variants(cls) -> list[str]:
        """No configurations of Mettagrid itself: one can name any Python object to be imported."""
        return ["forage"]

    def why_missing(self) -> str:
        return "" if find_spec("mettagrid") else MISSING

    @classmethod
    def agents_in(cls, variant: str) -> int | None:
        return AGENTS

    def open(self, variant: str, agents: int | None) -> World:
        wanted = agents or AGENTS
        if wanted > MOST_AGENTS:
            raise ValueError(f"It takes 1 to {MOST_AGENTS} agents, not {wanted}.")
        inside = (self.size - 2) ** 2
        if wanted + self.hearts + self.walls > inside:
            raise ValueError(f"Agents, hearts and walls do not fit: there are {inside} places.")
        return MettagridWorld(self._config(wanted), self.hearts)

    def _config(self, agents: int) -> Any:
        parts = import_module("mettagrid.config.mettagrid_config")
        withdraw = import_module("mettagrid.config.mutation.resource_mutation").withdraw
        handler = import_module("mettagrid.config.handler_config").Handler
        rewards = import_module("mettagrid.config.reward_config")
        maps = import_module("mettagrid.map_builder.random_map").RandomMapBuilder
        heart = parts.GridObjectConfig(
            name=HEART,
            inventory=parts.InventoryConfig(initial={HEART: 1}),
            on_use_handler=handler(mutations=[withdraw({HEART: 1}, remove_when_empty=True)]),
        )
        game = parts.GameConfig(
            num_agents=agents,
            max_steps=0,  # the mission's are counted outside
            resource_names=[HEART],
            actions=parts.ActionsConfig(
                change_vibe=parts.ChangeVibeActionConfig(enabled=False),
            ),
            objects={WALL: parts.WallConfig(), HEART: heart},
            agent=parts.AgentConfig(
                rewards={HEART: rewards.reward(rewards.InventoryValue(item=HEART))}
            ),
            map_builder=maps.Config(
                agents=agents,
                width=self.size,
                height=self.size,
                objects={WALL: self.walls, HEART: self.hearts},
                border_width=1,
                seed=0,
            ),
        )
        return parts.MettaGridConfig(label="forage", desync_episodes=False, game=game)
