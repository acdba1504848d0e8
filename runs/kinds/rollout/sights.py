"""What an agent sees, as a replay shows it; static/js/kinds/rollout.js writes the same."""

from math import isqrt
from typing import Any

from workers.engine.playing.replay import DIGITS

MOST_NUMBERS = 12  # of an observation; how many there are stands behind
LAYERS = 3  # of what agents of the grid world see: walls, food, other agents
FREE, WALL, FOOD, OTHER, ITSELF = "·", "#", "o", "A", "@"


def sight(seen: Any, *, on_grid: bool) -> str:
    return (window_of(seen) if on_grid else "") or shortened(seen)


def window_of(seen: Any) -> str:
    """The places around the agent, row by row. Empty: it is no such observation."""
    if not isinstance(seen, str) or not seen or len(seen) % LAYERS:
        return ""
    places = len(seen) // LAYERS
    side = isqrt(places)
    if side * side != places:
        return ""
    marks = [mark(seen[place::places]) for place in range(places)]
    marks[places // 2] = ITSELF
    return "\n".join(" ".join(marks[start : start + side]) for start in range(0, places, side))


def mark(layers: str) -> str:
    found = layers.find("1")
    return FREE if found < 0 else (WALL, FOOD, OTHER)[found]


def shortened(seen: Any) -> str:
    """Of long ones the beginning. 0 and 1 were kept as one text."""
    if not isinstance(seen, list | str) or len(seen) <= MOST_NUMBERS:
        return told(seen)
    return f"{told(seen[:MOST_NUMBERS])} … {len(seen)} in all"


def told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(told, value))
    if isinstance(value, float):
        text = f"{value:.{DIGITS}f}".rstrip("0").rstrip(".")
        return "0" if text == "-0" else text
    return "" if value is None else str(value)
