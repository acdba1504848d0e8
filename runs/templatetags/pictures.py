"""Small pictures in plain SVG and markup: they need no script and no inline style."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django import template

from runs.models import RunState
from runs.selectors.estimates.estimate import Estimate

register = template.Library()

STATE_ICONS: dict[str, str] = {
    RunState.QUEUED: "clock",
    RunState.STARTING: "clock",
    RunState.RUNNING: "activity",
    RunState.PAUSING: "pause",
    RunState.PAUSED: "pause",
    RunState.FINISHING: "activity",
    RunState.COMPLETED: "check",
    RunState.COMPLETED_WITH_ERRORS: "alert",
    RunState.FAILED: "cross",
    RunState.CANCELLED: "ban",
}

# In the order they are drawn: what is finished first, so that the bar grows from the left.
BAR_PARTS: dict[str, str] = {
    "fresh": "Answered",
    "cached": "From cache",
    "failed": "Failed",
    "in_flight": "In flight",
    "waiting": "Waiting",
}

SLOTS_DRAWN = 24  # more boxes than this say nothing more


class Segment(NamedTuple):
    name: str
    label: str
    number: int
    x: float
    width: float


@register.inclusion_tag("parts/icon.html")
def icon(name: str) -> dict[str, str]:
    return {"name": name}


@register.inclusion_tag("parts/state.html")
def state_badge(state: str) -> dict[str, str]:
    return {
        "state": state,
        "text": RunState(state).label if state in RunState.values else state,
        "icon": STATE_ICONS.get(state, "clock"),
    }


@register.inclusion_tag("parts/when.html")
def when(moment: datetime | None) -> dict[str, datetime | None]:
    """A relative time with the exact one in its title."""
    return {"moment": moment}


def segments(bar: Mapping[str, int]) -> list[Segment]:
    """The parts of a progress bar in percent of what is planned."""
    planned = max(bar.get("planned", 0), 1)
    result: list[Segment] = []
    x = 0.0
    for name, label in BAR_PARTS.items():
        number = bar.get(name, 0)
        width = min(100 * number / planned, 100 - x)
        result.append(Segment(name, label, number, round(x, 3), round(width, 3)))
        x += width
    return result


@register.inclusion_tag("parts/progress.html")
def progress_bar(snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """The segmented bar of the run page, with a count in text for every colour."""
    bar = snapshot["bar"]
    done = bar["fresh"] + bar["cached"] + bar["failed"]
    return {"snapshot": snapshot, "segments": segments(bar), "done": done}


@register.inclusion_tag("parts/bar.html")
def small_bar(done: int, failed: int, cached: int, planned: int) -> dict[str, Any]:
    """The bar of a list row."""
    bar = {"fresh": done - failed - cached, "cached": cached, "failed": failed, "planned": planned}
    return {"segments": segments(bar)}


@register.inclusion_tag("parts/sparkline.html")
def sparkline(counts: Sequence[int]) -> dict[str, str]:
    """A line over equal parts of time, on a field of 48 x 14."""
    top, step = max(*counts, 1), 48 / (len(counts) - 1)
    points = (f"{step * i:.1f} {13 - 12 * count / top:.1f}" for i, count in enumerate(counts))
    return {"path": "M" + "L".join(points)}


@register.inclusion_tag("parts/whisker.html")
def whisker(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    """A dot with its interval on a scale from 0 to 1."""
    if value is None or low is None or high is None:
        return {"is_known": False}
    left, right = (100 * min(max(edge, 0.0), 1.0) for edge in (low, high))
    return {
        "is_known": True,
        "left": round(left, 2),
        "width": round(max(right - left, 0.5), 2),
        "dot": round(100 * min(max(value, 0.0), 1.0), 2),
    }


@register.inclusion_tag("parts/slots.html")
def slot_picture(found: Estimate) -> dict[str, Any]:
    """A box for every call at once, grouped by candidate, then those that are lent."""
    room = SLOTS_DRAWN
    groups: list[range] = []
    for _ in range(found.allocation.candidates):
        if room <= 0:
            break
        groups.append(range(min(found.allocation.cases_per_candidate, room)))
        room -= found.allocation.cases_per_candidate
    lent = min(found.slots_lent, max(room, 0))
    drawn = sum(len(group) for group in groups) + lent
    more = found.usable_slots_static + found.slots_lent - drawn
    return {"groups": groups, "lent": range(lent), "more": more}
