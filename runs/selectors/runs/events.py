"""The events tab: what happened to a run, newest first."""

from typing import NamedTuple

from runs.models import ADVICE, EventLevel, Run, RunEvent
from runs.selectors.paging import NEWEST_FIRST, place, read_page

PAGE_SIZE = 100
MOST_ADVICE = 5  # of a run


def list_advice(run: Run) -> list[str]:
    """What a person could do, so that it goes faster; each thing once."""
    told = run.events.filter(kind=ADVICE).order_by("pk")
    return list(told.values_list("message", flat=True)[:MOST_ADVICE])


class EventPage(NamedTuple):
    events: list[RunEvent]
    older: int | None


def list_events(run: Run, level: str = "", older_than: int | None = None) -> EventPage:
    events = RunEvent.objects.filter(run=run)
    if level in EventLevel.values:
        events = events.filter(level=level)
    page = read_page(events, NEWEST_FIRST, PAGE_SIZE, after=place(older_than))
    return EventPage(page.rows, older=page.rows[-1].pk if page.has_next else None)
