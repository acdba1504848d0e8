"""Our own small world: agents on a grid look for food. The default install needs no other."""

from typing import ClassVar

from pydantic import Field

from workers.engine.environments.base import Environment, World
from workers.engine.environments.grid_maps import VARIANTS

MOST_AGENTS = 64


class Grid(Environment):
    """Agents on a grid look for food: `grid/harvest`, `grid/maze` or `grid/crowd`."""

    label: ClassVar[str] = "Grid world"

    size: int | None = Field(
        default=None, ge=5, le=64, description="Columns and rows of the map, with the outer wall."
    )
    food: int | None = Field(
        default=None, ge=1, le=2000, description="How much food there is at the beginning."
    )

    @classmethod
    def variants(cls) -> list[str]:
        return list(VARIANTS)

    @classmethod
    def agents_in(cls, variant: str) -> int | None:
        return VARIANTS[variant].agents if variant in VARIANTS else None

    def open(self, variant: str, agents: int | None) -> World:
        if agents is not None and not 1 <= agents <= MOST_AGENTS:
            raise ValueError(f"The grid world takes 1 to {MOST_AGENTS} agents, not {agents}.")
        from workers.engine.environments.grid_world import GridWorld  # numpy takes its time

        rules = VARIANTS[variant]
        return GridWorld(
            rules._replace(
                agents=agents or rules.agents,
                size=self.size or rules.size,
                food=self.food or rules.food,
            )
        )
