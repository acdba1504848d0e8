"""Policies that look at nothing: the measure of all others."""

from random import Random
from typing import Any, ClassVar

from pydantic import Field

from workers.engine.policies.base import Policy, Seat


class RandomState:
    """Draws like `randrange` of Python, by the seed of its seat."""

    def __init__(self, seat: Seat) -> None:
        self.random = Random(seat.seed).random
        self.space = seat.space


class RandomPolicy(Policy):
    """Any action, each as likely as the others: what a policy must beat."""

    label: ClassVar[str] = "Random"

    def reset(self, seat: Seat) -> RandomState:
        return RandomState(seat)

    def step(self, observation: Any, state: RandomState) -> Any:
        space = state.space
        if space.actions is not None:
            return int(state.random() * space.actions)
        return [
            low + state.random() * (high - low)
            for low, high in zip(space.low, space.high, strict=True)
        ]


class Still(Policy):
    """Always the first action, which in many environments does nothing."""

    def reset(self, seat: Seat) -> Any:
        return seat.space.noop

    def step(self, observation: Any, state: Any) -> Any:
        return state


class Cycle(Policy):
    """The actions of a list, one after the other, then from the beginning."""

    actions: list[int] = Field(
        default=[0, 1], min_length=1, max_length=1000, description="The actions, by their numbers."
    )

    def reset(self, seat: Seat) -> list[int]:
        return [0]

    def step(self, observation: Any, state: list[int]) -> int:
        place = state[0]
        state[0] = (place + 1) % len(self.actions)
        return self.actions[place]
