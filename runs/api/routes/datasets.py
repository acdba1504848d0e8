"""Datasets: import rows as JSON or as a file, list, read, archive and delete them."""

from typing import Annotated

from django.contrib.auth.models import AbstractBaseUser
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Query
from pydantic import BaseModel, Field, ValidationError

from runs.access import datasets_for, find_dataset_for, get_dataset_to_erase_for
from runs.api.bodies import address_of, json_of, media_type_of
from runs.api.dataset_shapes import (
    DatasetAnswer,
    DatasetBody,
    DatasetChanges,
    DatasetName,
    DatasetPage,
    RowAnswer,
    dataset_answer,
    row_answer,
)
from runs.api.doors import caller, needs
from runs.api.files import FILE_FORMS, also_as_files, wanted_form
from runs.api.pages import ApiList, ArchiveQuery, Page, PageQuery, answer
from runs.api.problems import of_problems, refuse
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.api.sharing_shapes import asked
from runs.models import AuditAction, Dataset, Scope
from runs.models.dataset import ColumnRole
from runs.reports.dataset_files import send_rows
from runs.roles import Permission
from runs.selectors.api_lists import list_cases_from, list_datasets
from runs.selectors.erasures import Erasure, dataset_erasure, obstacle_to_erasing_dataset
from runs.selectors.named_parts import split_choice
from runs.services.audit import Subject, record
from runs.services.datasets.roles import RoleError, describe_columns
from runs.services.datasets.storing import guess_format, import_dataset, store_rows
from runs.services.people.sharing import share_dataset
from runs.services.removing.archiving import (
    InUseError,
    archive_dataset,
    delete_dataset,
    delete_version,
    remove_dataset,
    restore_dataset,
)
from runs.services.removing.erasing import erase_dataset
from workers.engine.spec.problems import explain

routes = Routes(tags=["Datasets"])


class DeleteQuery(BaseModel):
    erase: Annotated[
        bool,
        Field(
            description="Also the runs on it with their scores, whoever started them, and the "
            "cached answers that they paid for."
        ),
    ] = False
    dry_run: Annotated[bool, Field(description="With `erase`: only count what would go.")] = False
    now: Annotated[
        bool, Field(description="For good at once, instead of some days in which it can come back.")
    ] = False


class Deleted(Applied):
    """`erasure` is null for a dataset that nothing used."""

    erasure: Erasure | None = None


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
    auth=needs(Scope.MANAGE, Permission.IMPORT, takes_work=True),
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
    "/datasets/{path:name}",
    auth=needs(Scope.READ),
    response=DatasetPage,
    summary="Show a dataset",
    openapi_extra=also_as_files("DatasetPage"),
)
def show_dataset(
    request: HttpRequest, name: DatasetName, query: Query[PageQuery]
) -> HttpResponseBase:
    """One version, with its rows page by page. `Accept: text/csv` and `Accept:
    application/x-ndjson` give all rows as one file; `limit` and `cursor` are for JSON."""
    form = wanted_form(request, FILE_FORMS)
    dataset = find_dataset_for(caller(request), name)
    if form is not None:
        told = f"v{dataset.version}, rows.{form}"
        record(AuditAction.EXPORTED, Subject("dataset", dataset.name), told)
        return send_rows(request, dataset, form)
    start = ROWS.place(query.cursor, dataset.pk)
    found = list_cases_from(dataset, query.limit + 1, start)
    about = dataset_answer(dataset).model_dump()
    return ROWS.page([row_answer(case) for case in found], query, dataset.pk, dataset=about)


@routes.patch(
    "/datasets/{path:name}",
    auth=needs(Scope.MANAGE, Permission.IMPORT),
    response=Applied,
    summary="Change a dataset",
)
def change_dataset(request: HttpRequest, name: DatasetName, body: DatasetChanges) -> Applied:
    """Share or archive all its versions, or say what the columns of one are for; for its owner and
    operators. An archived dataset is refused for new runs, as is one that is no longer shared for
    those of others; runs that use it go on."""
    found = find_dataset_for(caller(request), name, write=True)
    if body == DatasetChanges():
        raise refuse("", "Give shared or team, archived or roles.")
    if body.shared is not None and body.team is not None:
        raise refuse("team", "Give either shared or team.")
    changed = False
    if body.roles is not None:
        changed |= say_roles(found, body.roles)
    if body.shared is not None or body.team is not None:
        wanted = asked(caller(request), body.shared, body.team)
        changed |= share_dataset(found, caller(request), **wanted._asdict())
    if body.archived is not None:
        change = archive_dataset if body.archived else restore_dataset
        changed |= change(caller(request), found.name)
    return Applied(changed=changed)


def say_roles(dataset: Dataset, roles: dict[str, ColumnRole]) -> bool:
    try:
        return describe_columns(dataset, roles)
    except RoleError as error:
        raise refuse("roles", str(error)) from None


@routes.delete(
    "/datasets/{path:name}",
    auth=needs(Scope.MANAGE, Permission.IMPORT),
    response=Deleted,
    summary="Delete or erase a dataset",
)
def delete_rows(request: HttpRequest, name: DatasetName, query: Query[DeleteQuery]) -> Deleted:
    """All versions of a name, or only `name@3`, for its owner and operators. A whole dataset can be
    brought back for some days (EVALSITE_TRASH_DAYS) by `PATCH` with `archived: false`; one version
    is removed at once. 409 while a run or a stored configuration uses it: archive it instead, or
    erase it with all that came of it, which cannot be undone. An erasure is of all versions, and
    409 while runs on it go on; one that takes runs of others needs an operator."""
    if query.erase:
        return erase_rows(caller(request), name, query)
    if query.dry_run:
        raise refuse("dry_run", "Only an erasure is counted first: add erase=true.")
    found = find_dataset_for(caller(request), name, write=True)
    if split_choice(name).version is not None:
        delete_version(caller(request), found)
        return Deleted(changed=True)
    delete = remove_dataset if query.now else delete_dataset
    return Deleted(changed=bool(delete(caller(request), found.name)))


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
