"""The datasets pages: the newest version of each, and one version's rows page by page."""

import json
import re
from typing import Any, NamedTuple

from django.db.models import (
    Count,
    F,
    Func,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    TextField,
    Value,
)
from django.db.models.functions import Coalesce

from runs.models import Case, Dataset, Run
from runs.models.dataset import ColumnRole
from runs.selectors.paging import BY_POSITION, place, read_page
from runs.selectors.runs.ran_on import ran_on

PAGE_SIZE = 50
RECENT_RUNS = 5


class FieldText(Func):
    """The text of a row in one column, whatever its name: Django's own reads "3" as a place."""

    template, arg_joiner = "(%(expressions)s)", " ->> "

    def __init__(self, column: str) -> None:
        super().__init__(F("fields"), Value(column), output_field=TextField())

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "(SELECT value FROM json_each(%(expressions)s)"
        return self.as_sql(
            compiler, connection, template=f"{template})", arg_joiner=") WHERE (key = ", **context
        )


class RowFilters(NamedTuple):
    """Only rows with this tag, and in this part of the split; empty: all."""

    tag: str = ""
    part: str = ""


ALL_ROWS = RowFilters()


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
        .select_related("owner", "team")
        .order_by("name")
    )


def versions_of(datasets: QuerySet[Dataset], dataset: Dataset) -> list[Dataset]:
    same_name = datasets.filter(name=dataset.name).annotate(used_by=Count("runs"))
    return list(same_name.select_related("owner", "team").order_by("-version"))


def list_cases(
    dataset: Dataset,
    after: int | None = None,
    before: int | None = None,
    filters: RowFilters = ALL_ROWS,
) -> CasePage:
    """A page of rows next to a position."""
    cases = matching_cases(dataset, filters)
    page = read_page(cases, BY_POSITION, PAGE_SIZE, after=place(after), before=place(before))
    return CasePage(
        page.rows,
        previous=page.rows[0].position if page.has_previous else None,
        next=page.rows[-1].position if page.has_next else None,
    )


def matching_cases(dataset: Dataset, filters: RowFilters) -> QuerySet[Case]:
    """Found by the database. A filter by something that the dataset has no column for is none."""
    cases = Case.objects.filter(dataset=dataset)
    split, tags = dataset.column_for(ColumnRole.SPLIT), dataset.column_for(ColumnRole.TAGS)
    if filters.part and split:
        cases = cases.alias(part=FieldText(split)).filter(part=filters.part)
    if filters.tag and tags:
        pattern = tag_pattern(filters.tag)
        cases = cases.alias(tag=FieldText(tags)).filter(tag__regex=pattern)
    return cases


def tag_pattern(tag: str) -> str:
    """A cell with this tag among others, as `tags_in` reads it; for the databases' own patterns,
    which know no classes of escapes in common."""
    plain = re.escape(tag)
    in_list = re.escape(json.dumps(tag, ensure_ascii=False))
    return rf"(^|[,;|\n])[ \t]*{plain}[ \t]*($|[,;|\n])|^[ \t]*\[.*{in_list}[ ]*[],]"


def recent_runs(runs: QuerySet[Run], dataset: Dataset) -> list[RecentRun]:
    of_name = runs.filter(dataset__name=dataset.name).select_related("dataset").order_by("-pk")
    return [RecentRun(run, ran_on(run).rows_text) for run in of_name[:RECENT_RUNS]]
