"""Datasets: import rows as JSON or as a file, list, read, archive and delete them."""

from datetime import datetime
from typing import Annotated, Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field, ValidationError

from runs.access import datasets_for, find_dataset_for, get_dataset_to_erase_for
from runs.api.bodies import address_of, json_of, media_type_of
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, ArchiveQuery, Page, PageQuery, answer
from runs.api.problems import of_problems, refuse
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.models import Case, Dataset, Scope
from runs.roles import Permission
from runs.selectors.api_lists import list_cases_from, list_datasets
from runs.selectors.erasures import Erasure, dataset_erasure, obstacle_to_erasing_dataset
from runs.selectors.named_parts import split_choice
from runs.services.archiving import (
    InUseError,
    archive_dataset,
    delete_dataset,
    delete_version,
    restore_dataset,
)
from runs.services.datasets.storing import guess_format, import_dataset, store_rows
from runs.services.erasing import erase_dataset
from runs.services.people.sharing import share_dataset
from workers.engine.spec.configuration import Strict
from workers.engine.spec.problems import explain

routes = Routes(tags=["Datasets"])

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
    owner: Annotated[str | None, Field(description="Who changes it, besides operators.")]
    shared: Annotated[bool, Field(description="False: only its owner and operators see it.")]
    created: datetime
    archived: datetime | None


class DatasetChanges(Strict):
    """Of all its versions; only what is given is changed."""

    archived: Annotated[bool, Field(strict=True)] | None = None
    shared: Annotated[bool, Field(strict=True)] | None = None


class DeleteQuery(BaseModel):
    erase: Annotated[
        bool,
        Field(
            description="Also the runs on it with their scores, whoever started them, and the "
            "cached answers that they paid for."
        ),
    ] = False
    dry_run: Annotated[bool, Field(description="With `erase`: only count what would go.")] = False


class Deleted(Applied):
    """`erasure` is null for a dataset that nothing used."""

    erasure: Erasure | None = None


class RowAnswer(BaseModel):
    case: int
    fields: dict[str, str]


class DatasetPage(Page[RowAnswer]):
    dataset: DatasetAnswer


FORMATS = "CSV, JSON or JSONL"
UPLOAD = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 120},
        "file": {"type": "string", "contentMediaType": "text/csv", "description": FORMATS},
        "expected": {"type": "string", "maxLength": 100},
        "shared": {"type": "string", "enum": ["true", "false"]},
    },
    "required": ["name", "file"],
}
BODY = {
    "required": True,
    "content": {
        "application/json": {"schema": DatasetBody.model_json_schema()},
        "multipart/form-data": {"schema": UPLOAD},
    },
}
DATASETS = ApiList("datasets", DatasetAnswer, "name")
ROWS = ApiList("rows", RowAnswer, "case")


@routes.post(
    "/datasets",
    auth=needs(Scope.MANAGE, Permission.IMPORT),
    response={201: DatasetAnswer},
    summary="Import a dataset",
    openapi_extra={"requestBody": BODY},
)
def import_rows(request: HttpRequest) -> HttpResponse:
    """The rows become the next version of the name; all of them or none. Send JSON, or upload a
    CSV, JSON or JSONL file as multipart form data. Lists and objects in a field become JSON text.
    The same rows again give the same version, with the column that is named as `expected` now. 409
    if the name is somebody else's."""
    dataset = from_upload(request) if is_upload(request) else from_json(request)
    where = address_of("datasets", f"{dataset.name}@{dataset.version}")
    return answer(dataset_answer(dataset).model_dump(), 201, Location=where)


@routes.get(
    "/datasets", auth=needs(Scope.READ), response=Page[DatasetAnswer], summary="List datasets"
)
def list_all_datasets(request: HttpRequest, query: Query[ArchiveQuery]) -> HttpResponse:
    """The newest version of each of yours and of the shared ones, by name; for operators of all.
    Archived ones only when asked for."""
    start = DATASETS.place(query.cursor, query.archived)
    datasets = datasets_for(caller(request)).filter(archived__isnull=not query.archived)
    found = list_datasets(datasets, query.limit + 1, start)
    return DATASETS.page([dataset_answer(dataset) for dataset in found], query, query.archived)


@routes.get(
    "/datasets/{path:name}", auth=needs(Scope.READ), response=DatasetPage, summary="Show a dataset"
)
def show_dataset(request: HttpRequest, name: DatasetName, query: Query[PageQuery]) -> HttpResponse:
    """One version, with its rows page by page."""
    dataset = find_dataset_for(caller(request), name)
    start = ROWS.place(query.cursor, dataset.pk)
    found = list_cases_from(dataset, query.limit + 1, start)
    about = dataset_answer(dataset).model_dump()
    return ROWS.page([row_answer(case) for case in found], query, dataset.pk, dataset=about)


@routes.patch(
    "/datasets/{path:name}",
    auth=needs(Scope.MANAGE, Permission.IMPORT),
    response=Applied,
    summary="Share or archive a dataset",
)
def change_dataset(request: HttpRequest, name: DatasetName, body: DatasetChanges) -> Applied:
    """All its versions, for its owner and operators. An archived dataset is refused for new runs,
    as is one that is no longer shared for those of others; runs that use it go on."""
    found = find_dataset_for(caller(request), name, write=True)
    if body.shared is None and body.archived is None:
        raise refuse("", "Give shared or archived.")
    changed = False
    if body.shared is not None:
        changed |= share_dataset(found, caller(request), is_shared=body.shared)
    if body.archived is not None:
        change = archive_dataset if body.archived else restore_dataset
        changed |= change(caller(request), found.name)
    return Applied(changed=changed)


@routes.delete(
    "/datasets/{path:name}",
    auth=needs(Scope.MANAGE, Permission.IMPORT),
    response=Deleted,
    summary="Delete or erase a dataset",
)
def delete_rows(request: HttpRequest, name: DatasetName, query: Query[DeleteQuery]) -> Deleted:
    """All versions of a name, or only `name@3`, for its owner and operators. 409 while a run or a
    stored configuration uses it: archive it instead, or erase it with all that came of it, which
    cannot be undone. An erasure is of all versions, and 409 while runs on it go on; one that takes
    runs of others needs an operator."""
    if query.erase:
        return erase_rows(caller(request), name, query)
    if query.dry_run:
        raise refuse("dry_run", "Only an erasure is counted first: add erase=true.")
    found = find_dataset_for(caller(request), name, write=True)
    if split_choice(name).version is None:
        delete_dataset(caller(request), found.name)
    else:
        delete_version(caller(request), found)
    return Deleted(changed=True)


def erase_rows(user: AbstractBaseUser, name: str, query: DeleteQuery) -> Deleted:
    found = get_dataset_to_erase_for(user, find_dataset_for(user, name).pk)
    if not found.is_hidden and split_choice(name).version is not None:
        raise refuse("name", "A dataset is erased with all its versions: give its name alone.")
    if not query.dry_run:
        return Deleted(changed=True, erasure=erase_dataset(user, found))
    if obstacle := obstacle_to_erasing_dataset(user, found):
        raise InUseError(obstacle)
    return Deleted(applied=False, changed=False, erasure=dataset_erasure(found))


def is_upload(request: HttpRequest) -> bool:
    return media_type_of(request) == "multipart/form-data"


def from_json(request: HttpRequest) -> Dataset:
    try:
        body = DatasetBody.model_validate(json_of(request))
    except ValidationError as error:
        raise of_problems(explain(error, DatasetBody)) from None
    return store_rows(caller(request), body.name, body.rows, body.expected, share=body.shared)


def from_upload(request: HttpRequest) -> Dataset:
    allowed = ("name", "file", "expected", "shared")
    unknown = [name for name in (*request.POST, *request.FILES) if name not in allowed]
    if unknown:
        raise refuse(unknown[0], f"Unknown field. Allowed here: {', '.join(allowed)}.")
    name, file = request.POST.get("name", ""), request.FILES.get("file")
    if not isinstance(file, UploadedFile):
        raise refuse("file", f"Send the rows as a file, in {FORMATS}.")
    expected, shared = request.POST.get("expected", ""), request.POST.get("shared", "false")
    if shared not in {"true", "false"}:
        raise refuse("shared", "Send true or false.")
    format, share = guess_format(file), shared == "true"
    return import_dataset(caller(request), name, file, format, expected, share=share)


def dataset_answer(dataset: Dataset) -> DatasetAnswer:
    return DatasetAnswer(
        name=dataset.name,
        version=dataset.version,
        rows=dataset.rows,
        columns=dataset.columns,
        expected=dataset.expected_column,
        owner=dataset.owner.get_username() if dataset.owner else None,
        shared=dataset.is_shared,
        created=dataset.created,
        archived=dataset.archived,
    )


def row_answer(case: Case) -> RowAnswer:
    return RowAnswer.model_construct(case=case.position, fields=case.fields)
