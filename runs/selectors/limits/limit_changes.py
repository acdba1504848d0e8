"""When limits of a run moved, for its chart: marks with the reason, and the limit's own steps."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from runs.models import Run, RunEvent

MOST_MARKS = 50
TICK_MARKS = 5  # a tick repeats the newest, so that a lost one heals
MARK_CHARACTERS = 160


class SlotsNow(NamedTuple):
    """Calls at once that are allowed now: by the run, and by each model under its key."""

    own: int | None
    models: Mapping[str, int]
    second: int | None = None  # of the run; None when it is over

    @property
    def possible(self) -> int:
        return possible(self.own, self.models)


def read_limit_changes(run: Run, now: SlotsNow, *, last: int = MOST_MARKS) -> dict[str, Any]:
    """Parts of a snapshot: marks, oldest first, and [second, limit] wherever the limit moved."""
    events = list(run.events.filter(kind="limit").order_by("-pk")[:MOST_MARKS])[::-1]
    return {
        "marks": [mark_of(run, event) for event in events[-last:]],
        "limit_steps": limit_steps(run, events, now),
    }


def mark_of(run: Run, event: RunEvent) -> dict[str, Any]:
    text = mark_text(event)
    if len(text) > MARK_CHARACTERS:
        text = f"{text[: MARK_CHARACTERS - 1]}…"
    return {"id": event.pk, "second": second_of(run, event), "text": text}


def mark_text(event: RunEvent) -> str:
    """Short: the chart has little room. What cannot be shortened is said as in the events."""
    data = event.data
    if "moves" in data or "before" not in data:
        return event.message
    return f"{data['model']} {data['before']} → {data['after']}, {data['reason']}"


def second_of(run: Run, event: RunEvent) -> int:
    """The run's own second, without its pauses."""
    if "second" in event.data:
        return int(event.data["second"])
    return max(0, int((event.at - run.started).total_seconds())) if run.started else 0


def limit_steps(run: Run, events: list[RunEvent], now: SlotsNow) -> list[list[int]]:
    """Calls at once that were possible over time, up to now: the run's own limit, or less where
    its models bore less together."""
    own, models = first_limits(events, now)
    steps = [[0, possible(own, models)]]
    for event in events:
        data = event.data
        if "max_concurrent" in data.get("moves", {}):
            own = data["moves"]["max_concurrent"][1]
        elif data.get("key") in models:
            models[data["key"]] = data["after"]
        else:
            continue
        steps.append([second_of(run, event), possible(own, models)])
    if now.second is not None and steps[-1][1] != now.possible:
        steps.append([max(now.second, steps[-1][0]), now.possible])  # small moves make no event
    return steps


def first_limits(events: list[RunEvent], now: SlotsNow) -> tuple[int | None, dict[str, int]]:
    """Before the first of these events. What none of them moved is as it is now."""
    own, models = now.own, dict(now.models)
    for event in reversed(events):
        data = event.data
        if "max_concurrent" in data.get("moves", {}):
            own = data["moves"]["max_concurrent"][0]
        elif data.get("key") in models:
            models[data["key"]] = data["before"]
    return own, models


def possible(own: int | None, models: Mapping[str, int]) -> int:
    together = sum(models.values())
    if own is None or not models:
        return together if own is None else own
    return min(own, together)
