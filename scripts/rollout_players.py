"""Policies to measure lanes with: one that computes, one that waits, one that multiplies matrices.
Other processes import it, so it imports little."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

from workers.engine.policies import Policy, Seat

SIZE = 1024  # columns of the matrix


def compute(milliseconds: float) -> None:
    end = time.thread_time() + milliseconds / 1000
    while time.thread_time() < end:
        pass


class Computes(Policy):
    """About so many milliseconds of pure Python in each action."""

    milliseconds: float = 2.0

    def step(self, observation: Any, state: Any) -> int:
        compute(self.milliseconds)
        return 1


class Balances(Policy):
    """Keeps CartPole's pole up for 500 steps, after so many milliseconds of pure Python."""

    milliseconds: float = 0.0

    def step(self, observation: Any, state: Any) -> int:
        if self.milliseconds:
            compute(self.milliseconds)
        _, _, angle, speed = observation.tolist()
        return int(angle + 0.5 * speed > 0)


class Waits(Policy):
    """Sleeps in each action, as for a network."""

    milliseconds: float = 20.0

    def step(self, observation: Any, state: Any) -> int:
        time.sleep(self.milliseconds / 1000)
        return 1


class Multiplies(Policy):
    """Two matrix products in each action, or two for all agents."""

    modules: ClassVar[frozenset[str]] = frozenset({"numpy"})

    def reset(self, seat: Seat) -> Any:
        return matrices(seat.space.features)

    def step(self, observation: Any, state: Any) -> int:
        first, second = state
        return int((observation @ first @ second).argmax()) % 5

    def step_batch(self, observations: Sequence[Any], states: Sequence[Any]) -> list[int]:
        import numpy as np

        first, second = states[0]
        found = (np.stack(observations) @ first @ second).argmax(axis=1) % 5
        return [int(one) for one in found]


_made: dict[int, Any] = {}


def matrices(features: int) -> Any:
    import numpy as np

    if features not in _made:
        random = np.random.default_rng(0)
        _made[features] = (random.normal(size=(features, SIZE)), random.normal(size=(SIZE, SIZE)))
    return _made[features]
