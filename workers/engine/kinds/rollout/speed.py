"""Steps a second while a rollout went on, from when each episode began and how long it took."""

from collections.abc import Sequence
from typing import NamedTuple

from workers.engine.kinds.rollout.answers import Told

PARTS = 60  # of the time: about as many as a chart shows apart


class Speed(NamedTuple):
    """The time from the first episode's beginning to the last one's end, in equal parts."""

    seconds: float
    rates: tuple[float, ...]  # steps a second in each part


def speed_of(played: Sequence[Told]) -> Speed | None:
    """The steps of an episode count evenly over its time. None: it was not noted when it began."""
    timed = [told for told in played if told.started and told.seconds > 0]
    if not timed:
        return None
    begun = min(told.started for told in timed)
    seconds = max(told.started + told.seconds for told in timed) - begun
    if seconds <= 0:
        return None  # shorter than a clock can tell
    width = seconds / PARTS
    steps = [0.0] * PARTS
    for told in timed:
        add_to(steps, (told.started - begun) / width, told.seconds / width, told.steps)
    return Speed(seconds, tuple(count / width for count in steps))


def add_to(parts: list[float], start: float, length: float, steps: int) -> None:
    """Both in parts. An episode that lies in one of them, as most do, is added at once."""
    stop = start + length
    first, last = min(int(start), PARTS - 1), min(int(stop), PARTS - 1)
    if first == last:
        parts[first] += steps
        return
    for part in range(first, last + 1):
        inside = min(stop, part + 1) - max(start, part)
        parts[part] += steps * inside / length
