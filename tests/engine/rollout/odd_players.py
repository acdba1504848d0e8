"""Policies and worlds that misbehave, for other processes, too: it imports little."""

import os
import time
from typing import Any, ClassVar

from workers.engine.environments.grid import Grid
from workers.engine.policies import Policy


class OneByOne(Policy):
    """Batches are played as their agents would be alone."""

    def step_batch(self, observations, states):
        return [self.step(one, state) for one, state in zip(observations, states, strict=True)]


class Hanger(Policy):
    """Hangs in the action of this number of its agent 0: in Python, where no exception of its own
    lets it out, or in C, where no signal reaches it."""

    at: int = 2
    in_c: bool = False

    def reset(self, seat):
        return [seat.agent, 0]

    def step(self, observation, state):
        state[1] += 1
        while state == [0, self.at]:
            if self.in_c:
                sum(range(10**13))  # hours in which no handler of a signal is run
            try:
                time.sleep(600)  # until it is interrupted or its process is ended
            except Exception:  # noqa: BLE001 - it is what this policy is for
                continue
        return 1


class Late(OneByOne):
    """Takes so long in every action of agent 0."""

    seconds: float = 0.05

    def reset(self, seat):
        return seat.agent

    def step(self, observation, state):
        if state == 0:
            time.sleep(self.seconds)  # of the clock that a test holds
        return 1


class Raiser(OneByOne):
    """Fails in one step of the episodes with an odd seed."""

    def reset(self, seat):
        return int(seat.seed.partition("/")[0]) % 2 == 1

    def step(self, observation, state):
        if state:
            raise RuntimeError("<b>no idea")
        return 1


class Fragile(Policy):
    """Ends its process in the episodes with an odd seed."""

    def reset(self, seat):
        return int(seat.seed.partition("/")[0]) % 2 == 1

    def step(self, observation, state):
        if state:
            os._exit(3)
        return 1


class Placed(OneByOne):
    """Acts by the device that it was handed."""

    takes_device: ClassVar[bool] = True

    def reset(self, seat):
        if seat.device == "cpu:9":
            raise ValueError("there is no cpu:9")
        return seat.device

    def step(self, observation, state):
        return 1 if state == "cpu" else 2


class Glutton(Policy):
    """Asks for more memory than a process may have."""

    def step(self, observation, state):
        bytearray(8 * 1024**3)
        return 1


class Homebody(Policy):
    """Cannot be sent to another process."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("it stays at home")

    def step(self, observation, state):
        return 1


class OddWorld:
    """Of the grid, but for what `how` says."""

    def __init__(self, world: Any, how: str) -> None:
        self._world, self._how, self._steps = world, how, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def step(self, actions):
        self._steps += 1
        if self._how == "breaks" and self._steps == 3:
            raise OSError("the board fell off the table")
        found = self._world.step(actions)
        return found._replace(rewards=[9.0] * len(actions)) if self._how == "other" else found

    def picture(self):
        if self._how == "raises":
            raise OSError("no paint")
        if self._how == "text":
            return "<svg>"
        import numpy as np

        return np.random.default_rng(0).integers(0, 255, (60, 60, 3), dtype=np.uint8)


class Broken(Grid):
    """Fails in its third step."""

    def open(self, variant, agents):
        return OddWorld(super().open(variant, agents), "breaks")


class Painted(Grid):
    """With pictures that are drawn in one of several ways."""

    how: str = "noise"

    def open_drawn(self, variant, agents):
        return OddWorld(self.open(variant, agents), self.how)
