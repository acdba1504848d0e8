"""A linear policy: the action whose weighted sum of the observation is largest."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import Field

from workers.engine.environments.base import Space
from workers.engine.policies.base import Policy, Seat


class Linear(Policy):
    """The action whose weighted sum of the observation is largest."""

    modules: ClassVar[frozenset[str]] = frozenset({"numpy"})

    weights: list[list[float]] = Field(
        default_factory=list,
        max_length=4096,
        description="A row for each number of an observation, a column for each action. Empty: "
        "drawn by the seed.",
    )
    seed: int = Field(default=0, ge=0, le=2**31, description="Of weights that are not given.")

    def reset(self, seat: Seat) -> Any:
        return weights_for(self.model_dump_json(), seat.space)

    def step(self, observation: Any, state: Any) -> Any:
        return self.step_batch([observation], [state])[0]

    def step_batch(self, observations: Sequence[Any], states: Sequence[Any]) -> Sequence[Any]:
        from workers.engine.policies.products import product, rows_of

        values = product(rows_of(observations), states[0].matrix)
        return chosen(values, states[0].space)


class Weights:
    def __init__(self, space: Space, matrix: Any) -> None:
        self.space = space
        self.matrix = matrix


@lru_cache(maxsize=64)
def weights_for(options: str, space: Space) -> Weights:
    """Read once in a process: agents of the same kind share them."""
    import numpy as np

    from workers.engine.policies.products import drawn

    policy = Linear.model_validate_json(options, strict=False)
    shape = (space.features, outputs_of(space))
    if not policy.weights:
        return Weights(space, drawn(policy.seed, shape)[0])
    matrix = np.asarray(policy.weights, dtype=np.float64)
    if matrix.shape != shape:
        rows, columns = shape
        raise ValueError(
            f"The weights are {' x '.join(map(str, matrix.shape))}. This environment needs "
            f"{rows} x {columns}: a row a number of an observation, a column an action."
        )
    return Weights(space, matrix)


def outputs_of(space: Space) -> int:
    return space.actions if space.actions is not None else max(1, len(space.low))


def chosen(values: Any, space: Space) -> list[Any]:
    """The first of the largest; where an action is a list of numbers, between its bounds."""
    if space.actions is not None:
        found: list[Any] = values.argmax(axis=1).tolist()
        return found
    import numpy as np

    low, high = np.asarray(space.low), np.asarray(space.high)
    bounded: list[Any] = (low + (np.tanh(values) + 1.0) / 2.0 * (high - low)).tolist()
    return bounded
