"""The grid world as it is played: agents look for food."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from workers.engine.environments.base import Space, Stats, Step
from workers.engine.environments.grid_maps import GridMap, GridRules, draw_map

VIEW = 2  # places that an agent sees in each direction
SIDE = 2 * VIEW + 1
SEEN = SIDE * SIDE  # places in an observation, for each of walls, food and other agents
MOVES = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0))
NAMES = ("stay", "up", "down", "left", "right")
FIRST, REST = 0, 1  # the generators of a map: one for walls and starts, one for what grows again


class GridWorld:
    """An observation has three layers of 5 x 5 places around the agent, 0 or 1 each: walls, food,
    other agents. Agents move in the order of their numbers, and each food is worth 1."""

    def __init__(self, rules: GridRules) -> None:
        self._rules = rules
        self.spaces: Sequence[Space] = [Space(3 * SEEN, len(MOVES))] * rules.agents

    def reset(self, seed: int, map_seed: int) -> Sequence[Any]:
        self._map: GridMap = draw_map(self._rules, Random(f"{map_seed}/{FIRST}"))
        self._random = Random(f"{seed}/{REST}")
        size = self._map.size + 2 * VIEW  # with a margin, so that a view never leaves the map
        self._layers = np.zeros((3, size, size))
        self._layers[0] = 1.0
        inner = slice(VIEW, size - VIEW)
        self._layers[0, inner, inner] = 0.0
        for x, y in self._map.walls:
            self._layers[0, y + VIEW, x + VIEW] = 1.0
        for x, y in self._map.food:
            self._layers[1, y + VIEW, x + VIEW] = 1.0
        self._at = list(self._map.starts)
        for x, y in self._at:
            self._layers[2, y + VIEW, x + VIEW] = 1.0
        self._left = len(self._map.food)
        self._eaten = [0] * len(self._at)
        self._bumps = [0] * len(self._at)
        self._grown: list[list[int]] = []
        return [self._view(agent) for agent in range(len(self._at))]

    def step(self, actions: Sequence[Any]) -> Step:
        self._grown = []
        rewards = [self._move(agent, int(action)) for agent, action in enumerate(actions)]
        observations = [self._view(agent) for agent in range(len(self._at))]
        return Step(observations, rewards, self._left == 0)

    def _move(self, agent: int, action: int) -> float:
        if not 0 <= action < len(MOVES):
            raise ValueError(f"The action {action} is none of 0 to {len(MOVES) - 1}.")
        x, y = self._at[agent]
        to_x, to_y = x + MOVES[action][0], y + MOVES[action][1]
        layers = self._layers
        if action == 0:
            return 0.0
        row, column = to_y + VIEW, to_x + VIEW
        if layers[0, row, column] or layers[2, row, column]:
            self._bumps[agent] += 1
            return 0.0
        layers[2, y + VIEW, x + VIEW] = 0.0
        layers[2, row, column] = 1.0
        self._at[agent] = (to_x, to_y)
        if not layers[1, row, column]:
            return 0.0
        layers[1, row, column] = 0.0
        self._eaten[agent] += 1
        self._left -= 1
        if self._rules.regrows:
            self._grow()
        return 1.0

    def _grow(self) -> None:
        """Somewhere that is free, by the episode's own generator."""
        inner = slice(VIEW + 1, VIEW + self._map.size - 1)
        rows, columns = np.nonzero(~self._layers[:, inner, inner].any(axis=0))
        if len(rows):
            place = self._random.choice(range(len(rows)))
            x, y = int(columns[place]) + 1, int(rows[place]) + 1
            self._layers[1, y + VIEW, x + VIEW] = 1.0
            self._left += 1
            self._grown.append([x, y])

    def _view(self, agent: int) -> Any:
        x, y = self._at[agent]
        seen = self._layers[:, y : y + SIDE, x : x + SIDE].reshape(-1).copy()
        seen[2 * SEEN + SEEN // 2] = 0.0  # itself
        return seen

    def stats(self) -> Stats:
        agents = [
            {"food.eaten": float(eaten), "bumps": float(bumps)}
            for eaten, bumps in zip(self._eaten, self._bumps, strict=True)
        ]
        game = {"food.eaten": float(sum(self._eaten)), "food.left": float(self._left)}
        return Stats(game, agents)

    def sketch(self) -> Mapping[str, Any] | None:
        return {
            "form": "grid",
            "size": self._map.size,
            "actions": list(NAMES),
            "walls": sorted(map(list, self._map.walls)),
            "food": sorted(map(list, self._map.food)),
            "agents": [list(place) for place in self._map.starts],
        }

    def scene(self) -> Any:
        """Where the agents are, then where food grew. Food goes where an agent comes; a world where
        that is not so adds the places that it was taken from."""
        return [[list(place) for place in self._at], self._grown]

    def close(self) -> None:
        pass  # nothing is open
