"""A small Gaussian process over things that differ in a number of ways, in plain Python.

A few dozen candidates are tried: a numerical library would cost more to start than it saves.
"""

import math
from collections.abc import Callable, Sequence
from statistics import fmean, pstdev
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

KINSHIP = 0.5  # how much of what is known of one holds for another that differs in one way
NOISE = 0.05  # of the variance: a mean over some cases is not exact

Vector = list[float]


class Guess(NamedTuple):
    mean: float
    deviation: float


class GaussianProcess(Generic[T]):
    def __init__(
        self, points: Sequence[T], values: Sequence[float], difference: Callable[[T, T], int]
    ) -> None:
        self._points, self._difference = points, difference
        self._centre = fmean(values)
        self._scale = pstdev(values) or 1.0
        kinships = [
            [self._kinship(a, b) + NOISE * (i == j) for j, b in enumerate(points)]
            for i, a in enumerate(points)
        ]
        self._lower = cholesky(kinships)
        standard = [(value - self._centre) / self._scale for value in values]
        self._weights = solve_upper(self._lower, solve_lower(self._lower, standard))

    def predict(self, point: T) -> Guess:
        row = [self._kinship(point, other) for other in self._points]
        mean = sum(k * weight for k, weight in zip(row, self._weights, strict=True))
        known = sum(part**2 for part in solve_lower(self._lower, row))
        deviation = math.sqrt(max(1 - known, 1e-9))
        return Guess(self._centre + self._scale * mean, self._scale * deviation)

    def _kinship(self, one: T, other: T) -> float:
        return float(KINSHIP ** self._difference(one, other))


def cholesky(matrix: Sequence[Vector]) -> list[Vector]:
    """The lower triangle whose product with its own transpose is the matrix."""
    lower: list[Vector] = []
    for i, row in enumerate(matrix):
        new: Vector = []
        for j in range(i + 1):
            rest = row[j] - sum(
                a * b for a, b in zip(new, (lower[j] if j < i else new), strict=False)
            )
            new.append(math.sqrt(rest) if i == j else rest / lower[j][j])
        lower.append(new)
    return lower


def solve_lower(lower: Sequence[Vector], right: Sequence[float]) -> Vector:
    found: Vector = []
    for row, value in zip(lower, right, strict=True):
        done = sum(a * b for a, b in zip(row, found, strict=False))
        found.append((value - done) / row[len(found)])
    return found


def solve_upper(lower: Sequence[Vector], right: Sequence[float]) -> Vector:
    """With the transpose of the lower triangle."""
    size = len(right)
    found = [0.0] * size
    for i in reversed(range(size)):
        done = sum(lower[j][i] * found[j] for j in range(i + 1, size))
        found[i] = (right[i] - done) / lower[i][i]
    return found
