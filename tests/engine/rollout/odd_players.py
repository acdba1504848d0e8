"""Policies and worlds that misbehave, compute or wait. Other processes import it, so it imports
little."""

import os
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from workers.engine.environments import Environment, World
from workers.engine.environments.grid import Grid
from workers.engine.policies import Policy, Seat


class Sleeper(Policy):
    """Waits in each action."""

    seconds: float = 0.02

    def step(self, observation: Any, state: Any) -> int:
        time.sleep(self.seconds)
        return int(observation[:25].sum()) % 5


class Burner(Policy):
    """Computes in each action for about so long, and gives the same whatever the machine."""

    rounds: int = 2000

    def step(self, observation: Any, state: Any) -> int:
        total = int(observation.sum())
        for number in range(self.rounds):
            total = (total * 31 + number) % 1_000_003
        return total % 5


class Matrix(Policy):
    """A matrix product for each action, or one for all."""

    modules: ClassVar[frozenset[str]] = frozenset({"numpy"})

    size: int = 256

    def reset(self, seat: Seat) -> Any:
        import numpy as np

        numbers = np.arange(seat.space.features * self.size) % 7
        return numbers.reshape(seat.space.features, self.size).astype(float)

    def step(self, observation: Any, state: Any) -> int:
        return int((observation @ state).argmax()) % 5

    def step_batch(self, observations: Sequence[Any], states: Sequence[Any]) -> list[int]:
        import numpy as np

        found = (np.stack(observations) @ states[0]).argmax(axis=1) % 5
        return [int(one) for one in found]


class Hanger(Policy):
    """Hangs in the action of this number of its agent 0: in Python, where no exception of its own
    lets it out, or in C, where no signal reaches it."""

    at: int = 2
    in_c: bool = False

    def reset(self, seat: Seat) -> list[int]:
        return [seat.agent, 0]

    def step(self, observation: Any, state: list[int]) -> int:
        state[1] += 1
        if state[0] == 0 and state[1] == self.at:
            if self.in_c:
                sum(range(10**13))  # hours in which no handler of a signal is run
            while True:
                try:
                    time.sleep(600)
                except Exception:  # noqa: BLE001 - it is what this policy is for
                    continue
        return 1


class Late(Policy):
    """Takes so long in every action of agent 0."""

    seconds: float = 0.05

    def reset(self, seat: Seat) -> int:
        return seat.agent

    def step(self, observation: Any, state: int) -> int:
        if state == 0:
            time.sleep(self.seconds)
        return 1

    def step_batch(self, observations: Sequence[Any], states: Sequence[int]) -> list[int]:
        return [self.step(one, state) for one, state in zip(observations, states, strict=True)]


class Raiser(Policy):
    """Fails in one step of the episodes with an odd seed."""

    def reset(self, seat: Seat) -> bool:
        return int(seat.seed.partition("/")[0]) % 2 == 1

    def step(self, observation: Any, state: bool) -> int:
        if state:
            raise RuntimeError("<b>no idea")
        return 1

    def step_batch(self, observations: Sequence[Any], states: Sequence[Any]) -> list[int]:
        return [self.step(one, state) for one, state in zip(observations, states, strict=True)]


class Crasher(Policy):
    """Ends its process."""

    def step(self, observation: Any, state: Any) -> int:
        os._exit(3)


class Fragile(Policy):
    """Ends its process in the episodes with an odd seed."""

    def reset(self, seat: Seat) -> bool:
        return int(seat.seed.partition("/")[0]) % 2 == 1

    def step(self, observation: Any, state: bool) -> int:
        if state:
            os._exit(3)
        return 1


class Placed(Policy):
    """Acts by the device that it was handed."""

    takes_device: ClassVar[bool] = True

    def reset(self, seat: Seat) -> str:
        if seat.device == "cpu:9":
            raise ValueError("there is no cpu:9")
        return seat.device

    def step(self, observation: Any, state: str) -> int:
        return 1 if state == "cpu" else 2

    def step_batch(self, observations: Sequence[Any], states: Sequence[str]) -> list[int]:
        return [self.step(one, state) for one, state in zip(observations, states, strict=True)]


class Glutton(Policy):
    """Asks for more memory than a process may have."""

    def step(self, observation: Any, state: Any) -> int:
        bytearray(8 * 1024**3)
        return 1


class Homebody(Policy):
    """Cannot be sent to another process."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("it stays at home")

    def step(self, observation: Any, state: Any) -> int:
        return 1


class Broken(Environment):
    """A grid world that fails in its third step."""

    @classmethod
    def variants(cls) -> list[str]:
        return ["world"]

    def open(self, variant: str, agents: int | None) -> World:
        return BreakingWorld(Grid().open("harvest", agents))


class BreakingWorld:
    def __init__(self, world: World) -> None:
        self._world = world
        self._steps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def step(self, actions: Sequence[Any]) -> Any:
        self._steps += 1
        if self._steps == 3:
            raise OSError("the board fell off the table")
        return self._world.step(actions)


class Paint:
    """A grid world that draws in one of several ways."""

    def __init__(self, how: str, world: Any) -> None:
        self._how = how
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def step(self, actions: Sequence[Any]) -> Any:
        found = self._world.step(actions)
        return found._replace(rewards=[9.0] * len(actions)) if self._how == "other" else found

    def picture(self) -> Any:
        if self._how == "raises":
            raise OSError("no paint")
        if self._how == "text":
            return "<svg>"
        import numpy as np

        return np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8)


class Painted(Grid):
    """The grid world, with pictures."""

    how: str = "noise"

    def open_drawn(self, variant: str, agents: int | None) -> Any:
        return Paint(self.how, self.open(variant, agents))
