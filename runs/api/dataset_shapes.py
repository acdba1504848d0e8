"""What the API takes and tells of datasets."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from runs.api.pages import Page
from runs.api.sharing_shapes import IsShared, SharedTeam
from runs.models import Case, Dataset
from runs.models.dataset import ColumnRole
from workers.engine.spec.configuration import Strict

DatasetName = Annotated[
    str, Field(max_length=140, description="A name, its newest version, or `name@3`.")
]


Expected = Annotated[
    str,
    Field(
        max_length=100,
        description="The column with the right answers. Empty: the one of the version before, else "
        "a column named expected, answer, target, label or output.",
    ),
]


Shared = Annotated[
    bool,
    Field(
        strict=True,
        description="Everybody on this site may see it, in all its versions. False: it stays as it "
        "is; a new one is private.",
    ),
]


class DatasetBody(Strict):
    name: Annotated[str, Field(min_length=1, max_length=120)]
    rows: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=100_000)]
    expected: Expected = ""
    shared: Shared = False


class DatasetAnswer(BaseModel):
    name: str
    version: int
    rows: int
    columns: list[str]
    expected: Annotated[str, Field(description="The column with the right answers; empty: none.")]
    roles: Annotated[dict[str, ColumnRole], Field(description="What each column is for.")]
    origin: Annotated[str, Field(description="Where its rows come from, in words.")]
    owner: Annotated[str | None, Field(description="Who changes it, besides operators.")]
    shared: IsShared
    team: SharedTeam
    created: datetime
    archived: datetime | None
    remove_after: datetime | None


class DatasetChanges(Strict):
    """Only what is given is changed: `archived`, and `shared` or `team`, of all its versions,
    `roles` of this one and of those to come."""

    archived: Annotated[bool, Field(strict=True)] | None = None
    shared: Annotated[bool, Field(strict=True)] | None = None
    team: Annotated[
        str | None, Field(max_length=80, description="With the members of a team that you are in.")
    ] = None
    roles: Annotated[
        dict[str, ColumnRole] | None,
        Field(description="What columns are for; those not named keep their role."),
    ] = None


class RowAnswer(BaseModel):
    case: int
    fields: dict[str, str]


class DatasetPage(Page[RowAnswer]):
    dataset: DatasetAnswer


def dataset_answer(dataset: Dataset) -> DatasetAnswer:
    return DatasetAnswer(
        name=dataset.name,
        version=dataset.version,
        rows=dataset.rows,
        columns=dataset.columns,
        expected=dataset.expected_column,
        roles={column: ColumnRole(dataset.role_of(column)) for column in dataset.columns},
        origin=dataset.origin,
        owner=dataset.owner.get_username() if dataset.owner else None,
        shared=dataset.is_shared,
        team=dataset.team.name if dataset.team else None,
        created=dataset.created,
        archived=dataset.archived,
        remove_after=dataset.remove_after,
    )


def row_answer(case: Case) -> RowAnswer:
    return RowAnswer.model_construct(case=case.position, fields=case.fields)
