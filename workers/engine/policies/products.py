"""Matrix products whose rows do not depend on how many others are computed with them.

BLAS sums in another order for one row than for many, so that the last bit of a number, and with it
an action, may depend on who plays beside. Here the sum goes over the inputs, one by one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np


def rows_of(observations: Sequence[Any]) -> Any:
    """One row for each observation."""
    return np.asarray(observations, dtype=np.float64).reshape(len(observations), -1)


def product(rows: Any, weights: Any) -> Any:
    """rows (n, inputs) times weights (inputs, outputs)."""
    if len(rows) == 1:  # numpy sums a single column pairwise, which is another order
        return product(np.repeat(rows, 2, axis=0), weights)[:1]
    return np.add.reduce(rows.T[:, :, None] * weights[:, None, :], axis=0)


def drawn(seed: int, *shapes: tuple[int, ...]) -> list[Any]:
    """Weights by a seed, scaled so that many inputs do not saturate what follows."""
    random = np.random.default_rng(seed)
    return [random.normal(0.0, 1.0 / np.sqrt(shape[0]), shape) for shape in shapes]
