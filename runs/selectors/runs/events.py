"""The events tab: what happened to a run, newest first."""

from typing import NamedTuple

from runs.models import EventLevel, Run, RunEvent

PAGE_SIZE = 100


class EventPage(NamedTuple):
    events: list[RunEvent]
    older: int | None


def list_events(run: Run, level: str = "", older_than: int | None = None) -> EventPage:
    events = RunEvent.objects.filter(run=run).order_by("-pk")
    if level in EventLevel.values:
        events = events.filter(level=level)
    if older_than is not None:
        events = events.filter(pk__lt=older_than)
    found = list(events[: PAGE_SIZE + 1])
    page = found[:PAGE_SIZE]
    return EventPage(page, older=page[-1].pk if len(found) > PAGE_SIZE else None)
