"""Axes of the pictures that are drawn on the server: round numbers, and places in percent."""

import math
from collections.abc import Sequence
from typing import NamedTuple

ROUND_STEPS = (1, 2, 2.5, 5, 10)


class Scale(NamedTuple):
    """From the first tick to the last one."""

    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """In percent; what lies outside is drawn at the edge."""
        low, high = self.ticks[0], self.ticks[-1]
        share = (value - low) / (high - low) if high > low else 0.5
        return round(100 * min(max(share, 0.0), 1.0), 2)


def scale_of(values: Sequence[float], ticks: int = 4) -> Scale:
    """Holds all values, with about so many steps between round numbers."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    if low == high == 0:
        high = 1.0  # shares and rewards are never below
    elif high - low < 1e-12:
        low, high = low - (abs(low) or 1.0) / 2, high + (abs(high) or 1.0) / 2
    step = round_step((high - low) / ticks)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return Scale(tuple(number * step for number in range(first, last + 1)))


def round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in ROUND_STEPS if step * power >= rough * (1 - 1e-9))
