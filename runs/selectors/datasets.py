"""The datasets pages: the newest version of each, and one version's rows page by page."""

from typing import NamedTuple

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from runs.models import Case, Dataset, Run
from runs.selectors.paging import BY_POSITION, place, read_page
from runs.selectors.runs.ran_on import ran_on

PAGE_SIZE = 50
RECENT_RUNS = 5


class CasePage(NamedTuple):
    cases: list[Case]
    previous: int | None
    next: int | None


class RecentRun(NamedTuple):
    run: Run
    rows: str  # which of them it took


def newest_versions(datasets: QuerySet[Dataset]) -> QuerySet[Dataset]:
    """One row per name, with how many versions there are and how many runs used any of them."""
    same_name = Dataset.objects.filter(name=OuterRef("name"))
    newest = same_name.order_by("-version").values("pk")[:1]
    versions = same_name.order_by().values("name").annotate(n=Count("pk")).values("n")
    used = (
        Run.objects.filter(dataset__name=OuterRef("name"))
        .order_by()
        .values("dataset__name")
        .annotate(n=Count("pk"))
        .values("n")
    )
    return (
        datasets.filter(pk=Subquery(newest))
        .annotate(
            versions=Subquery(versions, output_field=IntegerField()),
            used_by=Coalesce(Subquery(used, output_field=IntegerField()), 0),
        )
        .select_related("owner")
        .order_by("name")
    )


def versions_of(datasets: QuerySet[Dataset], dataset: Dataset) -> list[Dataset]:
    same_name = datasets.filter(name=dataset.name).annotate(used_by=Count("runs"))
    return list(same_name.select_related("owner").order_by("-version"))


def list_cases(dataset: Dataset, after: int | None = None, before: int | None = None) -> CasePage:
    """A page of rows next to a position."""
    cases = Case.objects.filter(dataset=dataset)
    page = read_page(cases, BY_POSITION, PAGE_SIZE, after=place(after), before=place(before))
    return CasePage(
        page.rows,
        previous=page.rows[0].position if page.has_previous else None,
        next=page.rows[-1].position if page.has_next else None,
    )


def recent_runs(runs: QuerySet[Run], dataset: Dataset) -> list[RecentRun]:
    of_name = runs.filter(dataset__name=dataset.name).select_related("dataset").order_by("-pk")
    return [RecentRun(run, ran_on(run).rows_text) for run in of_name[:RECENT_RUNS]]
