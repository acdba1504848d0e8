"""Datasets beyond their rows: a report, changes between versions, splits."""

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import datasets_for, find_dataset_for
from runs.api.bodies import address_of
from runs.api.dataset_shapes import DatasetAnswer, DatasetName, dataset_answer
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Page, PageQuery, answer
from runs.api.problems import refuse
from runs.api.router import Routes
from runs.models import Dataset, Scope
from runs.roles import Permission
from runs.selectors.datasets.changes import (
    ChangedRow,
    Changes,
    NoBaseError,
    base_version,
    changes_between,
    read_changed,
)
from runs.selectors.datasets.report import DatasetReport, report_on
from runs.services.datasets.splitting import SplitError, split_dataset
from workers.engine.spec.configuration import Strict
from workers.engine.spec.parts import Seed

routes = Routes(tags=["Datasets"])


class ChangesQuery(PageQuery):
    base: Annotated[
        int | None, Field(ge=1, description="A version. Not given: the one before.")
    ] = None
    kind: Annotated[
        Literal["changed", "added", "removed"], Field(description="Which rows to list.")
    ] = "changed"


class ChangeRow(BaseModel):
    """`case` and `base_case` are where the row is in the version and in its base; null: nowhere.
    The fields are those that changed, or all of a row that is in one of them only."""

    place: int
    case: int | None
    base_case: int | None
    before: dict[str, str]
    after: dict[str, str]


class ChangeCounts(BaseModel):
    changed: int
    added: int
    removed: int
    same: int


class ChangesPage(Page[ChangeRow]):
    """Rows are matched by the columns in `matched_by`: the id column, or the inputs."""

    name: str
    version: int
    base: int
    counts: ChangeCounts
    matched_by: list[str]
    columns_added: list[str]
    columns_removed: list[str]


class SplitBody(Strict):
    parts: Annotated[dict[str, float], Field(min_length=2, max_length=20)] = Field(
        description="Every part with its share of the rows; together 1."
    )
    seed: Seed = Field(0, description="Another seed parts the rows otherwise.")


CHANGES = ApiList("changes", ChangeRow, "place")


@routes.get(
    "/dataset-reports/{path:name}",
    auth=needs(Scope.READ, takes_work=True),
    response=DatasetReport,
    summary="Duplicates and lengths of a dataset",
)
def show_report(request: HttpRequest, name: DatasetName) -> HttpResponse:
    """Rows that ask the same, word for word or nearly, by their numbers from 1; how long the inputs
    are, and how many rows each split and tag has."""
    dataset = find_dataset_for(caller(request), name)
    return answer(report_on(dataset).model_dump())


@routes.get(
    "/dataset-changes/{path:name}",
    auth=needs(Scope.READ, takes_work=True),
    response=ChangesPage,
    summary="What changed between two versions of a dataset",
)
def show_changes(
    request: HttpRequest, name: DatasetName, query: Query[ChangesQuery]
) -> HttpResponse:
    """Rows added, removed or changed since `base`, page by page, with the number of each."""
    dataset = find_dataset_for(caller(request), name)
    base = base_of(request, dataset, query.base)
    changes = changes_between(base, dataset)
    asked = (dataset.pk, base.pk, query.kind)
    start = CHANGES.place(query.cursor, *asked) or 0
    pairs = changes.pairs[query.kind][start : start + query.limit + 1]
    rows = [
        change_row(row, place, dataset.columns)
        for place, row in enumerate(read_changed(base, dataset, pairs), start=start + 1)
    ]
    return CHANGES.page(rows, query, *asked, **about(dataset, base, changes))


def base_of(request: HttpRequest, dataset: Dataset, version: int | None) -> Dataset:
    try:
        return base_version(datasets_for(caller(request)), dataset, version)
    except NoBaseError as error:
        raise refuse("base", str(error)) from None


def about(dataset: Dataset, base: Dataset, changes: Changes) -> dict[str, Any]:
    counts: dict[str, int] = {kind: changes.count(kind) for kind in changes.pairs}
    return {
        "name": dataset.name,
        "version": dataset.version,
        "base": base.version,
        "counts": {**counts, "same": changes.same},
        "matched_by": changes.matched_by,
        "columns_added": changes.columns_added,
        "columns_removed": changes.columns_removed,
    }


def change_row(row: ChangedRow, place: int, columns: list[str]) -> ChangeRow:
    old, new = row.before, row.after
    both = row.changed_columns(columns) if old and new else None
    return ChangeRow(
        place=place,
        case=new.position if new else None,
        base_case=old.position if old else None,
        before=fields_of(old.fields, both) if old else {},
        after=fields_of(new.fields, both) if new else {},
    )


def fields_of(fields: dict[str, str], columns: list[str] | None) -> dict[str, str]:
    if columns is None:
        return fields
    return {column: fields[column] for column in columns if column in fields}


@routes.post(
    "/dataset-splits/{path:name}",
    auth=needs(Scope.MANAGE, Permission.IMPORT, takes_work=True),
    response={201: DatasetAnswer},
    summary="Split a dataset",
)
def add_split(request: HttpRequest, name: DatasetName, body: SplitBody) -> HttpResponse:
    """Adds a version with a column that names the part of each row, by share and seed; equal rows
    are in the same part. A configuration takes one as `dataset: {name: …, split: test}`."""
    dataset = find_dataset_for(caller(request), name, write=True)
    try:
        stored = split_dataset(caller(request), dataset, body.parts, body.seed)
    except SplitError as error:
        raise refuse("parts", str(error)) from None
    where = address_of("datasets", f"{stored.name}@{stored.version}")
    return answer(dataset_answer(stored).model_dump(), 201, Location=where)
