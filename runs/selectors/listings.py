"""Lists for programs, each from a place on: one row more than a page tells that there is more."""

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from runs.models import (
    Benchmark,
    Case,
    Configuration,
    Dataset,
    Endpoint,
    Run,
    RunEvent,
    RunState,
)
from runs.selectors.datasets import newest_versions
from runs.selectors.pickable import Pickable
from runs.selectors.runs.run_summary import RunSummary, summarise


class EventRow(Pickable):
    id: int
    at: datetime
    level: str
    kind: str
    message: str
    data: dict[str, Any]


def list_run_summaries(
    runs: QuerySet[Run],
    most: int,
    *,
    before: int | None,
    state: str = "",
    kind: str = "",
    name: str = "",
    since: datetime | None = None,
) -> list[RunSummary]:
    """Newest first. `since`: those that may have changed, which are also all that go on."""
    if state:
        runs = runs.filter(state=state)
    if kind:
        runs = runs.filter(kind=kind)
    if name:
        runs = runs.filter(name__icontains=name)
    if since is not None:
        news = Q(created__gte=since) | Q(ended__gte=since) | Q(state__in=RunState.live())
        runs = runs.filter(news)
    if before is not None:
        runs = runs.filter(pk__lt=before)
    found = runs.select_related("dataset").defer("document", "snapshot_of").order_by("-pk")
    return summarise(list(found[:most]))


def list_event_rows(
    run: Run, most: int, *, after: int | None, level: str = "", since: datetime | None = None
) -> list[EventRow]:
    """In the order in which they happened."""
    events = RunEvent.objects.filter(run=run).order_by("pk")
    if level:
        events = events.filter(level=level)
    if since is not None:
        events = events.filter(at__gte=since)
    if after is not None:
        events = events.filter(pk__gt=after)
    return [EventRow(**row) for row in events.values(*EventRow.model_fields)[:most]]


def list_datasets(datasets: QuerySet[Dataset], most: int, after: str | None) -> list[Dataset]:
    """The newest version of each, by name."""
    found = newest_versions(datasets)
    return list(found.filter(name__gt=after)[:most] if after is not None else found[:most])


def list_cases_from(dataset: Dataset, most: int, after: int | None) -> list[Case]:
    cases = Case.objects.filter(dataset=dataset).order_by("position")
    return list(cases.filter(position__gt=-1 if after is None else after)[:most])


def list_endpoints_from(
    endpoints: QuerySet[Endpoint], most: int, after: str | None
) -> list[Endpoint]:
    found = endpoints.defer("key_ciphertext").order_by("name")
    return list(found.filter(name__gt=after)[:most] if after is not None else found[:most])


def list_configurations(
    configurations: QuerySet[Configuration], most: int, after: str | None
) -> list[Configuration]:
    found = configurations.defer("document").order_by("name")
    return list(found.filter(name__gt=after)[:most] if after is not None else found[:most])


def list_benchmarks_from(
    benchmarks: QuerySet[Benchmark], most: int, before: int | None
) -> list[Benchmark]:
    found = benchmarks.order_by("-pk")
    return list(found.filter(pk__lt=before)[:most] if before is not None else found[:most])
