"""A small network in numpy, with a memory: what it saw before changes what it does."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import Field

from workers.engine.environments.base import Space
from workers.engine.policies.base import Policy, Seat
from workers.engine.policies.linear import chosen, outputs_of


class Network(Policy):
    """A small network with a memory for each agent. Its weights are drawn by the seed."""

    modules: ClassVar[frozenset[str]] = frozenset({"numpy"})

    hidden: int = Field(default=16, ge=1, le=512, description="Numbers in its memory.")
    seed: int = Field(default=0, ge=0, le=2**31, description="Of its weights.")

    def reset(self, seat: Seat) -> "Memory":
        return Memory(layers_for(self.hidden, self.seed, seat.space))

    def step(self, observation: Any, state: "Memory") -> Any:
        return self.step_batch([observation], [state])[0]

    def step_batch(self, observations: Sequence[Any], states: Sequence["Memory"]) -> Sequence[Any]:
        import numpy as np

        from workers.engine.policies.products import product, rows_of

        layers = states[0].layers
        before = np.stack([state.values for state in states])
        seen = product(rows_of(observations), layers.inputs)
        after = np.tanh(seen + product(before, layers.memory))
        for state, values in zip(states, after, strict=True):
            state.values = values
        return chosen(product(after, layers.outputs), layers.space)


class Layers:
    def __init__(self, space: Space, hidden: int, seed: int) -> None:
        from workers.engine.policies.products import drawn

        self.space = space
        self.hidden = hidden
        self.inputs, self.memory, self.outputs = drawn(
            seed, (space.features, hidden), (hidden, hidden), (hidden, outputs_of(space))
        )


class Memory:
    """The hidden state of one agent."""

    def __init__(self, layers: Layers) -> None:
        import numpy as np

        self.layers = layers
        self.values = np.zeros(layers.hidden)


@lru_cache(maxsize=64)
def layers_for(hidden: int, seed: int, space: Space) -> Layers:
    """Drawn once in a process: agents of the same kind share them."""
    return Layers(space, hidden, seed)
