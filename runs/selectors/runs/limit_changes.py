"""When limits of a run moved, for its chart: marks with the reason, and the limit's own steps."""

from typing import Any

from runs.models import Run, RunEvent

MOST_MARKS = 50
TICK_MARKS = 5  # a tick repeats the newest, so that a lost one heals
MARK_CHARACTERS = 160


def read_limit_changes(run: Run, limit: int, *, last: int = MOST_MARKS) -> dict[str, Any]:
    """Parts of a snapshot: marks, oldest first, and [second, limit] wherever the limit moved."""
    events = list(run.events.filter(kind="limit").order_by("-pk")[:MOST_MARKS])[::-1]
    return {
        "marks": [mark_of(run, event) for event in events[-last:]],
        "limit_steps": limit_steps(run, events, limit),
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


def limit_steps(run: Run, events: list[RunEvent], limit: int) -> list[list[int]]:
    """The limit of calls at once over time, up to the one that holds now."""
    moves = [
        (second_of(run, event), *event.data["moves"]["max_concurrent"])
        for event in events
        if "max_concurrent" in event.data.get("moves", {})
    ]
    if not moves:
        return [[0, limit]]
    return [[0, moves[0][1]], *([second, after] for second, _, after in moves)]
