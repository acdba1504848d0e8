"""What was played at once, level by level, from when each episode began and how long it took."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workers.engine.kinds.rollout.answers import Told

Span = tuple[float, float]  # from, to


class Levels(NamedTuple):
    """On average, while anything was played."""

    missions: float
    episodes: float
    agents: float  # of an episode, that act at once
    slots: float  # that all of it took
    seats: float  # agents of an episode
    together: float  # episodes that one process plays side by side


def levels_of(played: Sequence[tuple[str, Told]]) -> Levels | None:
    """Each episode with its mission. None: nothing was played, or it was not noted when."""
    timed = [(mission, told) for mission, told in played if told.started and told.seconds]
    if not timed:
        return None
    spans: dict[str, list[Span]] = {}
    for mission, told in timed:
        spans.setdefault(mission, []).append((told.started, told.started + told.seconds))
    seconds = covered(span for each in spans.values() for span in each)
    if not seconds:
        return None  # shorter than a clock can tell
    total = sum(told.seconds for _, told in timed)
    n = len(timed)
    return Levels(
        missions=sum(covered(each) for each in spans.values()) / seconds,
        episodes=total / seconds,
        agents=sum(told.at_once * told.seconds for _, told in timed) / total,
        slots=sum(told.at_once * told.seconds / told.together for _, told in timed) / seconds,
        seats=sum(len(told.assignments) for _, told in timed) / n,
        together=sum(told.together for _, told in timed) / n,
    )


def covered(spans: Iterable[Span]) -> float:
    """Seconds in which at least one of them was under way."""
    total, end = 0.0, float("-inf")
    for start, stop in sorted(spans):
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total
