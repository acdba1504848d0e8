"""A network of two hidden layers in numpy, with its gradients.

Sums go in a fixed order, unlike those of BLAS, whose last bits depend on the number of rows and on
the threads: the same weights and observations give the same bits, alone or among others.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

HIDDEN = 64


class Shape(NamedTuple):
    inputs: int
    hidden: int
    outputs: int

    @property
    def parts(self) -> list[tuple[int, ...]]:
        """Weights and biases, layer by layer."""
        inputs, hidden, outputs = self
        layers = [(inputs, hidden), (hidden, hidden), (hidden, outputs)]
        return [part for layer in layers for part in (layer, layer[1:])]

    @property
    def numbers(self) -> int:
        return sum(int(np.prod(part)) for part in self.parts)


class Activations(NamedTuple):
    """What a pass through a network leaves behind for its gradients."""

    rows: Any
    first: Any
    second: Any
    outputs: Any


class Network:
    """ReLU, ReLU, linear. `parameters` are changed in place by who trains it."""

    def __init__(self, shape: Shape, parameters: Sequence[Any]) -> None:
        self.shape = shape
        self.parameters = list(parameters)

    @classmethod
    def drawn(cls, shape: Shape, random: Any, last_scale: float = 1.0) -> "Network":
        """By He's rule; the last layer smaller, so that a policy begins nearly uniform."""
        parts = []
        for number, part in enumerate(shape.parts):
            scale = np.sqrt(2.0 / part[0]) * (last_scale if number == 4 else 1.0)
            is_bias = len(part) == 1
            parts.append(np.zeros(part) if is_bias else random.normal(0.0, scale, part))
        made = cls(shape, parts)
        made.round()
        return made

    @classmethod
    def read(cls, shape: Shape, kept: bytes) -> "Network":
        numbers = np.frombuffer(kept, dtype="<f4").astype(np.float64)
        parts, start = [], 0
        for part in shape.parts:
            size = int(np.prod(part))
            parts.append(numbers[start : start + size].reshape(part).copy())
            start += size
        return cls(shape, parts)

    def write(self) -> bytes:
        return b"".join(part.astype("<f4").tobytes() for part in self.parameters)

    def round(self) -> None:
        """To what `write` keeps: a worker that reads it must choose as its trainer would."""
        for part in self.parameters:
            part[...] = part.astype(np.float32)

    def run(self, rows: Any) -> Activations:
        weights, bias, weights2, bias2, weights3, bias3 = self.parameters
        first = np.maximum(times(rows, weights) + bias, 0.0)
        second = np.maximum(times(first, weights2) + bias2, 0.0)
        return Activations(rows, first, second, times(second, weights3) + bias3)

    def gradients(self, ran: Activations, by_outputs: Any) -> list[Any]:
        """Of a loss with these gradients by the outputs, for each of the parameters."""
        _, _, weights2, _, weights3, _ = self.parameters
        by_second = times(by_outputs, weights3.T) * (ran.second > 0)
        by_first = times(by_second, weights2.T) * (ran.first > 0)
        found = []
        for rows, above in ((ran.rows, by_first), (ran.first, by_second), (ran.second, by_outputs)):
            found += [np.einsum("ni,nj->ij", rows, above), np.einsum("nj->j", above)]
        return found


def times(rows: Any, weights: Any) -> Any:
    """rows (n, inputs) times weights (inputs, outputs), summed over the inputs one by one."""
    return np.einsum("ni,ij->nj", rows, weights)


def log_softmax(logits: Any) -> Any:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.einsum("ni->n", np.exp(shifted)))[:, None]
