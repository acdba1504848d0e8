"""Policies written by hand, for the demo: each knows one environment."""

from random import Random
from typing import Any, ClassVar

from workers.engine.policies.base import Policy, Seat

SIDE, SEEN = 5, 25  # of the grid world's view: environments/grid_world.py
MIDDLE = SEEN // 2
NEXT = {1: MIDDLE - SIDE, 2: MIDDLE + SIDE, 3: MIDDLE - 1, 4: MIDDLE + 1}  # place by move
DISTANCES = [abs(place % SIDE - 2) + abs(place // SIDE - 2) for place in range(SEEN)]


class Seeker(Policy):
    """For the grid world: walks to the nearest food that it sees, else on in one direction."""

    def reset(self, seat: Seat) -> dict[str, Any]:
        return {"random": Random(seat.seed), "heading": 1 + seat.agent % 4}

    def step(self, observation: Any, state: dict[str, Any]) -> int:
        seen = observation.tolist()
        blocked = [bool(seen[place] or seen[2 * SEEN + place]) for place in range(SEEN)]
        food = [place for place in range(SEEN) if seen[SEEN + place]]
        if food:
            goal = min(food, key=lambda place: (DISTANCES[place], place))
            wanted = towards(goal)
        else:
            wanted = [state["heading"]]
        free = [move for move in wanted if not blocked[NEXT[move]]]
        if free:
            return free[0]
        others = [move for move in NEXT if not blocked[NEXT[move]]]
        if not others:
            return 0
        state["heading"] = others[int(state["random"].random() * len(others))]
        return int(state["heading"])


def towards(place: int) -> list[int]:
    """The moves that come nearer to it, the longer way first."""
    right, down = place % SIDE - 2, place // SIDE - 2
    across = [4 if right > 0 else 3] if right else []
    along = [2 if down > 0 else 1] if down else []
    return across + along if abs(right) >= abs(down) else along + across


class Balance(Policy):
    """For CartPole: pushes the cart to where the pole falls."""

    summary: ClassVar[str] = "For CartPole: pushes the cart to where the pole falls."

    def step(self, observation: Any, state: Any) -> int:
        _, _, angle, speed = observation.tolist()
        return int(angle + 0.5 * speed > 0)
