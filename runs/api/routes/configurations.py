"""Configurations: stored documents of the one schema, as JSON and as YAML."""

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field

from runs.access import all_configurations_for, get_configuration_for
from runs.api.bodies import JSON, YAML, address_of, document_from, wants_yaml
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, Page, PageQuery, answer
from runs.api.problems import RequestProblem, refuse
from runs.api.router import Routes
from runs.api.routes.control import Applied
from runs.api.sharing_shapes import IsShared, SharedTeam, SharingChanges
from runs.models import Configuration, Scope
from runs.roles import Permission
from runs.selectors.api_lists import list_configurations
from runs.selectors.configurations import configuration_versions, deleted_text
from runs.services.configurations import (
    LONGEST_DESCRIPTION,
    describe_configuration,
    name_is_taken,
    save_configuration,
)
from runs.services.people.sharing import share_configuration
from runs.services.removing.configuration_trash import (
    delete_configuration,
    restore_configuration,
)
from runs.services.removing.configuration_trash import remove_configuration as remove_for_good
from workers.engine.spec.documents import write_document

routes = Routes(tags=["Configurations"])

ConfigurationName = Annotated[str, Field(max_length=120)]


class ConfigurationRow(BaseModel):
    name: str
    kind: str
    version: int
    description: str
    is_preset: bool
    owner: Annotated[str | None, Field(description="Who changes it, besides operators.")]
    shared: IsShared
    team: SharedTeam
    updated: datetime
    remove_after: Annotated[
        datetime | None,
        Field(description="Of a deleted one: until then it can be brought back."),
    ]


class DeletedQuery(PageQuery):
    archived: Annotated[bool, Field(description="The deleted ones instead.")] = False


class DeleteConfigurationQuery(BaseModel):
    now: Annotated[
        bool, Field(description="For good at once, instead of some days in which it can come back.")
    ] = False


class VersionQuery(BaseModel):
    version: Annotated[
        int | None, Field(ge=1, le=2**31 - 1, description="An earlier one; without it the newest.")
    ] = None


class VersionRow(BaseModel):
    version: int
    kind: str
    saved_by: str | None
    created: datetime
    document: dict[str, Any]


class Versions(BaseModel):
    """Newest first."""

    name: str
    versions: list[VersionRow]


class ConfigurationChanges(SharingChanges):
    """Of the whole configuration; none makes a version. Of `shared` and `team` one takes the place
    of the other. `archived: false` brings a deleted one back; configurations are not archived
    otherwise."""

    description: Annotated[str | None, Field(max_length=LONGEST_DESCRIPTION)] = None
    archived: Literal[False] | None = None


AS_YAML = {"schema": {"type": "string", "description": "The same as YAML."}}
BODY = {
    "required": True,
    "content": {
        JSON: {"schema": {"$ref": "#/components/schemas/Configuration"}},
        YAML[0]: AS_YAML,
    },
}
# What was stored is answered unchanged: also a number that was written as a text.
ANSWER = {
    "content": {JSON: {"schema": {"type": "object", "required": ["name"]}}, YAML[0]: AS_YAML},
    "headers": {"ETag": {"schema": {"type": "string"}}},
}
BACK = "PATCH with archived: false brings it back, DELETE with now=true removes it."
CONFIGURATIONS = ApiList("configurations", ConfigurationRow, "name")


@routes.post(
    "/configurations",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE, takes_work=True),
    response={201: dict[str, Any]},
    summary="Store a configuration",
    openapi_extra={"requestBody": BODY, "responses": {201: ANSWER}},
)
def add_configuration(request: HttpRequest) -> HttpResponse:
    """Under its own `name`, which nobody else uses; 409 if it is taken, also by a deleted one. JSON
    or YAML."""
    document = document_from(request)
    name = document.get("name") if isinstance(document, dict) else None
    if not isinstance(name, str) or not name.strip():
        raise refuse("name", "A stored configuration needs a name.")
    refuse_deleted_name(request, name)
    if name_is_taken(name):
        raise RequestProblem(409, f"There is a configuration {name!r} already. PUT changes it.")
    saved = save_configuration(caller(request), name, document)
    return document_answer(request, saved, 201)


@routes.get(
    "/configurations",
    auth=needs(Scope.READ),
    response=Page[ConfigurationRow],
    summary="List configurations",
)
def list_all_configurations(request: HttpRequest, query: Query[DeletedQuery]) -> HttpResponse:
    """Yours, the shared ones and the presets, by name. Deleted ones only when asked for."""
    start = CONFIGURATIONS.place(query.cursor, query.archived)
    every = all_configurations_for(caller(request))
    visible = every.filter(remove_after__isnull=not query.archived)
    found = list_configurations(visible, query.limit + 1, start)
    return CONFIGURATIONS.page([row_of(stored) for stored in found], query, query.archived)


@routes.get(
    "/configurations/{path:name}",
    auth=needs(Scope.READ),
    response=dict[str, Any],
    summary="Show a configuration",
    openapi_extra={"responses": {200: ANSWER}},
)
def show_configuration(
    request: HttpRequest, name: ConfigurationName, query: Query[VersionQuery]
) -> HttpResponse:
    """The document as it was stored, also of a deleted one. `Accept: application/yaml` gives
    YAML."""
    stored = get_configuration_for(caller(request), name, even_deleted=True)
    if query.version not in {None, stored.version}:
        found = stored.versions.filter(version=query.version).first()
        if found is None:
            raise Http404(name)
        stored.version, stored.document = found.version, found.document
    return document_answer(request, stored)


@routes.get(
    "/configuration-versions/{path:name}",
    auth=needs(Scope.READ),
    response=Versions,
    summary="List the versions of a configuration",
)
def list_versions(request: HttpRequest, name: ConfigurationName) -> HttpResponse:
    """All of them with their documents, newest first. Those from before versions were kept are not
    there."""
    stored = get_configuration_for(caller(request), name, even_deleted=True)
    rows = [
        VersionRow(
            version=one.version,
            kind=one.kind,
            saved_by=one.saved_by.get_username() if one.saved_by else None,
            created=one.created,
            document=one.document,
        ).model_dump()
        for one in configuration_versions(stored)
    ]
    return answer({"name": stored.name, "versions": rows})


@routes.patch(
    "/configurations/{path:name}",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE),
    response=Applied,
    summary="Share, describe or bring back a configuration",
)
def change_configuration(
    request: HttpRequest, name: ConfigurationName, body: ConfigurationChanges
) -> Applied:
    """For its owner and operators. Who may see it may launch it, on datasets that they may use. A
    deleted one comes back with its schedule and gates; nothing else of it is changed before."""
    person = caller(request)
    stored = get_configuration_for(person, name, write=True, even_deleted=True)
    changed = body.archived is False and restore_configuration(stored, person)
    refuse_deleted_name(request, stored.name)
    if body.is_about_sharing:
        changed |= share_configuration(stored, person, **body.asked_by(person)._asdict())
    if body.description is not None:
        changed |= describe_configuration(stored, body.description, person)
    return Applied(changed=changed)


@routes.delete(
    "/configurations/{path:name}",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE),
    response=Applied,
    summary="Delete a configuration",
)
def remove_configuration(
    request: HttpRequest, name: ConfigurationName, query: Query[DeleteConfigurationQuery]
) -> Applied:
    """With its versions, schedule and gates, for its owner and operators. Runs keep what they
    froze. It can be brought back for some days (EVALSITE_TRASH_DAYS) by `PATCH` with `archived:
    false`; until then nothing is launched from it, and its name is not free."""
    stored = get_configuration_for(caller(request), name, write=True, even_deleted=True)
    if query.now:
        remove_for_good(stored, caller(request))
        return Applied(changed=True)
    return Applied(changed=delete_configuration(stored, caller(request)))


@routes.put(
    "/configurations/{path:name}",
    auth=needs(Scope.MANAGE, Permission.CONFIGURE, takes_work=True),
    response={200: dict[str, Any], 201: dict[str, Any]},
    summary="Replace a configuration",
    openapi_extra={"requestBody": BODY, "responses": {200: ANSWER, 201: ANSWER}},
)
def put_configuration(request: HttpRequest, name: ConfigurationName) -> HttpResponse:
    """Another document makes the next version; a name that is free is made. 409 if it is that of a
    deleted one. JSON or YAML."""
    document = document_from(request)
    if isinstance(document, dict) and document.get("name", name) != name:
        raise refuse("name", f"The address says {name!r}. Leave the name out, or say the same.")
    stored = writable(request, name)
    if stored is None:
        return document_answer(request, save_configuration(caller(request), name, document), 201)
    saved = save_configuration(
        caller(request), name, document, stored.description, stored.is_preset
    )
    return document_answer(request, saved)


def writable(request: HttpRequest, name: str) -> Configuration | None:
    """The stored one; None if the name is free. Somebody else's is not found."""
    try:
        found = get_configuration_for(caller(request), name, write=True, even_deleted=True)
    except Http404:
        if name_is_taken(name):
            raise
        return None
    refuse_deleted_name(request, name)
    return found


def refuse_deleted_name(request: HttpRequest, name: str) -> None:
    """Only to who may see it."""
    visible = all_configurations_for(caller(request))
    deleted = visible.filter(name=name.strip(), remove_after__isnull=False).first()
    if deleted is not None:
        raise RequestProblem(409, f"{deleted_text(deleted)} {BACK}")


def document_answer(request: HttpRequest, stored: Configuration, status: int = 200) -> HttpResponse:
    headers = {"ETag": f'"{stored.pk}-{stored.version}"'}
    if status == 201:
        headers["Location"] = address_of("configurations", stored.name)
    if wants_yaml(request):
        text = write_document(stored.as_document)
        return HttpResponse(text, status=status, content_type=YAML[0], headers=headers)
    return answer(stored.as_document, status, **headers)


def row_of(stored: Configuration) -> ConfigurationRow:
    same = ("name", "kind", "version", "description", "is_preset", "updated", "remove_after")
    return ConfigurationRow(
        **{name: getattr(stored, name) for name in same},
        owner=stored.owner.get_username() if stored.owner else None,
        shared=stored.is_shared,
        team=stored.team.name if stored.team else None,
    )
