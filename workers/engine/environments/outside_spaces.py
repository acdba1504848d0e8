"""What Gymnasium and PettingZoo have in common: spaces as ours, and pictures without a screen."""

import os
from collections.abc import Callable
from typing import Any

from workers.engine.environments.base import Space

PICTURES = "rgb_array"  # their name for pictures that are given, not shown
MOST_MADE = 1000  # numbers of a space that are made before they are sent
UNKNOWN_BOUND = 1.0  # for a number without a bound, so that something can be drawn


def space_of(observed: Any, acted: Any) -> Space:
    """Duck-typed: what has `n` is discrete, what has bounds is a box."""
    features = int(getattr(observed, "n", 0)) and 1
    shape = getattr(observed, "shape", None)
    if not features and shape is not None:
        features = 1
        for side in shape:
            features *= int(side)
    if hasattr(acted, "n"):
        return Space(features or 1, int(acted.n))
    if getattr(acted, "shape", None) is None or not hasattr(acted, "low"):
        told = f"Actions of the space {type(acted).__name__} cannot be played."
        raise ValueError(f"{told} Allowed: Discrete and Box.")
    low = tuple(bounded(value, -UNKNOWN_BOUND) for value in acted.low.reshape(-1).tolist())
    high = tuple(bounded(value, UNKNOWN_BOUND) for value in acted.high.reshape(-1).tolist())
    return Space(features or 1, None, low, high)


def bounded(value: float, instead: float) -> float:
    return value if abs(value) < 1e30 else instead  # float32's largest stands for no bound


def sender_to(acted: Any) -> Callable[[Any], Any]:
    """Makes of an action of ours what the space wants. The space is looked at once: its attributes
    may be found through several wrappers."""
    import numpy as np

    if hasattr(acted, "n"):
        return number_sender(int(acted.n), int(getattr(acted, "start", 0)), acted.dtype)
    dtype, shape = acted.dtype, acted.shape
    return lambda action: np.asarray(action, dtype=dtype).reshape(shape)


def number_sender(n: int, start: int, dtype: Any) -> Callable[[Any], Any]:
    """Numbers as their space draws them, which it checks in less time than an int. Made before:
    this is called in every step."""
    import numpy as np

    is_usual = np.dtype(dtype) == np.int64  # smaller ones could overflow where an int does not
    made = {one: np.int64(one + start) for one in range(min(n, MOST_MADE))} if is_usual else {}

    def send(action: Any) -> Any:
        found = made.get(action) if type(action) is int else None
        return int(action) + start if found is None else found

    return send


def without_a_screen() -> None:
    """Most of them draw with pygame, which looks for a screen and loudspeakers, and says hello."""
    for name in ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER"):
        os.environ.setdefault(name, "dummy")
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
