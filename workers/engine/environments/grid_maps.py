"""Maps of the grid world: walls, food and where the agents begin, all by one seed."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

Place = tuple[int, int]  # column, row


class GridRules(NamedTuple):
    size: int  # columns and rows, with the outer wall
    agents: int
    food: int
    walls: float  # the share of inner places that are walls
    regrows: bool = False  # food that was eaten comes back elsewhere


class GridMap(NamedTuple):
    size: int
    walls: frozenset[Place]
    food: tuple[Place, ...]
    starts: tuple[Place, ...]


VARIANTS: dict[str, GridRules] = {
    "harvest": GridRules(size=12, agents=4, food=24, walls=0.05),
    "maze": GridRules(size=12, agents=2, food=8, walls=0.25),
    "crowd": GridRules(size=10, agents=8, food=12, walls=0.0, regrows=True),
}


def draw_map(rules: GridRules, random: Random) -> GridMap:
    """Everything that is not a wall can be reached from everywhere."""
    size, inner = rules.size, range(1, rules.size - 1)
    edge = {(x, y) for x in range(size) for y in range(size) if x not in inner or y not in inner}
    places = [(x, y) for y in inner for x in inner]
    random.shuffle(places)
    walls = set(edge)
    for place in places[: round(rules.walls * len(places))]:
        if is_one_room([one for one in places if one not in walls and one != place]):
            walls.add(place)
    free = sorted(place for place in places if place not in walls)
    if len(free) < rules.agents + 1:
        raise ValueError(f"{rules.agents} agents do not fit on a map of {size} x {size}.")
    random.shuffle(free)
    starts = tuple(free[: rules.agents])
    food = tuple(free[rules.agents : rules.agents + rules.food])
    return GridMap(size, frozenset(walls), food, starts)


def is_one_room(free: Sequence[Place]) -> bool:
    left = set(free)
    if not left:
        return False
    front = [left.pop()]
    while front:
        x, y = front.pop()
        for place in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if place in left:
                left.remove(place)
                front.append(place)
    return not left
