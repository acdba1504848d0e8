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
    Prompt,
    Run,
    RunEvent,
    RunState,
)
from runs.selectors.datasets.pages import newest_versions
from runs.selectors.paging import BY_NAME, BY_POSITION, NEWEST_FIRST, Order, place
from runs.selectors.pickable import Pickable
from runs.selectors.prompts import newest_prompts
from runs.selectors.runs.run_filters import RunFilters, narrow
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
    filters: RunFilters,
    is_archived: bool = False,
    name: str = "",
    since: datetime | None = None,
) -> list[RunSummary]:
    """Newest first. `since`: those that may have changed, which are also all that go on."""
    runs = narrow(runs.filter(archived__isnull=not is_archived), filters)
    if filters.state:
        runs = runs.filter(state=filters.state)
    if name:
        runs = runs.filter(name__icontains=name)
    if since is not None:
        news = Q(created__gte=since) | Q(ended__gte=since) | Q(state__in=RunState.live())
        runs = runs.filter(news)
    found = runs.select_related("dataset", "owner", "team")
    found = found.defer("document", "snapshot_of", "note")
    return summarise(list(NEWEST_FIRST.walk(found, place(before))[:most]))


def list_event_rows(
    run: Run, most: int, *, after: int | None, level: str = "", since: datetime | None = None
) -> list[EventRow]:
    """In the order in which they happened."""
    events = RunEvent.objects.filter(run=run)
    if level:
        events = events.filter(level=level)
    if since is not None:
        events = events.filter(at__gte=since)
    found = Order(("pk",)).walk(events, place(after))
    return [EventRow(**row) for row in found.values(*EventRow.model_fields)[:most]]


def list_datasets(datasets: QuerySet[Dataset], most: int, after: str | None) -> list[Dataset]:
    """The newest version of each, by name."""
    return list(BY_NAME.walk(newest_versions(datasets), place(after))[:most])


def list_cases_from(dataset: Dataset, most: int, after: int | None) -> list[Case]:
    cases = Case.objects.filter(dataset=dataset)
    return list(BY_POSITION.walk(cases, place(after))[:most])


def list_endpoints_from(
    endpoints: QuerySet[Endpoint], most: int, after: str | None
) -> list[Endpoint]:
    return list(BY_NAME.walk(endpoints.defer("key_ciphertext"), place(after))[:most])


def list_configurations(
    configurations: QuerySet[Configuration], most: int, after: str | None
) -> list[Configuration]:
    named = configurations.select_related("owner", "team").defer("document")
    return list(BY_NAME.walk(named, place(after))[:most])


def list_prompts(prompts: QuerySet[Prompt], most: int, after: str | None) -> list[Prompt]:
    """The newest version of each, by name."""
    return list(BY_NAME.walk(newest_prompts(prompts), place(after))[:most])


def list_benchmarks_from(
    benchmarks: QuerySet[Benchmark], most: int, before: int | None
) -> list[Benchmark]:
    return list(NEWEST_FIRST.walk(benchmarks, place(before))[:most])
