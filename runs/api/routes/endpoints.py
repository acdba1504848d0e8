"""Endpoints: add, list, show, change, pause, delete. No answer holds a key."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import BaseModel, Field, model_validator

from runs.access import endpoints_for, find_endpoint_for
from runs.api.bodies import address_of
from runs.api.doors import caller, needs
from runs.api.pages import ApiList, ArchiveQuery, Page, answer
from runs.api.router import Routes
from runs.api.routes.control import NOTHING, Applied, NoBody
from runs.models import Endpoint, EndpointKind, Scope
from runs.outbound import places_of
from runs.roles import Permission
from runs.selectors.api_lists import list_endpoints_from
from runs.services.control.endpoint_pauses import pause_endpoint, resume_endpoint
from runs.services.endpoints import LONGEST_KEY, save_endpoint
from runs.services.removing.archiving import archive_endpoint, delete_endpoint, restore_endpoint
from runs.services.removing.archiving import remove_endpoint as remove_for_good
from workers.engine.spec.configuration import Concurrency, NotSwitch, RequestRate, Strict, TokenRate

routes = Routes(tags=["Endpoints"])

Url = Annotated[str, Field(max_length=300)]
WRITE_ONLY: dict[str, Any] = {"writeOnly": True}
EndpointName = Annotated[str, Field(max_length=60)]


class Price(Strict):
    """Dollars per million tokens."""

    input: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False), NotSwitch]
    output: Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False), NotSwitch]


class EndpointChanges(Strict):
    """What is not given stays. `base_urls` are servers with the same models; the first one is the
    base URL. An empty `api_key` removes the key."""

    kind: EndpointKind = EndpointKind.OPENAI
    base_url: Url = ""
    base_urls: Annotated[list[Url], Field(min_length=1, max_length=51)] = [""]
    api_key: Annotated[
        str,
        Field(
            max_length=LONGEST_KEY, description="Write-only.", json_schema_extra={"writeOnly": True}
        ),
    ] = ""
    private_addresses: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=300)]],
        Field(
            max_length=51,
            description="Of its servers those in a private network, as host:port, which an admin "
            "lets this endpoint call. One that is left out may no longer be called.",
        ),
    ] = []
    allow_private: Annotated[
        bool,
        Field(
            strict=True,
            description="Instead of private_addresses: true names all of its servers, false none.",
        ),
    ] = False
    models: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=1000)
    ] = []
    max_concurrent: Concurrency = 20
    requests_per_minute: RequestRate | None = None
    tokens_per_minute: TokenRate | None = None
    adaptive: Annotated[bool, Field(strict=True)] = True
    prices: dict[Annotated[str, Field(min_length=1, max_length=200)], Price] = {}

    @model_validator(mode="after")
    def check_one_address(self) -> "EndpointChanges":
        if {"base_url", "base_urls"} <= self.model_fields_set:
            raise ValueError("Give base_url or base_urls: one of the two.")
        if {"allow_private", "private_addresses"} <= self.model_fields_set:
            raise ValueError("Give allow_private or private_addresses: one of the two.")
        return self


class EndpointPatch(EndpointChanges):
    archived: Annotated[bool, Field(strict=True)] = False


class EndpointBody(EndpointChanges):
    name: Annotated[str, Field(min_length=1, max_length=60, pattern="^[a-z0-9][a-z0-9._-]*$")]
    kind: EndpointKind


class DeleteEndpointQuery(BaseModel):
    now: Annotated[
        bool, Field(description="For good at once, instead of some days in which it can come back.")
    ] = False


class EndpointAnswer(BaseModel):
    """Of the key only whether there is one."""

    name: str
    kind: EndpointKind
    base_url: str
    base_urls: list[str]
    private_addresses: list[str]
    models: list[str]
    max_concurrent: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    adaptive: bool
    prices: dict[str, Any]
    is_paused: bool
    has_key: bool
    key_set_at: datetime | None
    archived: datetime | None
    remove_after: datetime | None


ENDPOINTS = ApiList("endpoints", EndpointAnswer, "name")
PLAIN = ("kind", "max_concurrent", "requests_per_minute", "tokens_per_minute", "adaptive")


@routes.post(
    "/endpoints",
    auth=needs(Scope.MANAGE, Permission.EDIT_ENDPOINTS),
    response={201: EndpointAnswer},
    summary="Add an endpoint",
)
def add_endpoint(request: HttpRequest, body: EndpointBody) -> HttpResponse:
    """For operators. The key is stored encrypted and never answered."""
    saved = save(request, Endpoint(name=body.name), body)
    where = address_of("endpoints", saved.name)
    return answer(endpoint_answer(saved).model_dump(), 201, Location=where)


@routes.get(
    "/endpoints", auth=needs(Scope.READ), response=Page[EndpointAnswer], summary="List endpoints"
)
def list_all_endpoints(request: HttpRequest, query: Query[ArchiveQuery]) -> HttpResponse:
    """By name. Archived ones only when asked for."""
    start = ENDPOINTS.place(query.cursor, query.archived)
    endpoints = endpoints_for(caller(request)).filter(archived__isnull=not query.archived)
    found = list_endpoints_from(endpoints, query.limit + 1, start)
    return ENDPOINTS.page([endpoint_answer(endpoint) for endpoint in found], query, query.archived)


@routes.get(
    "/endpoints/{name}",
    auth=needs(Scope.READ),
    response=EndpointAnswer,
    summary="Show an endpoint",
)
def show_endpoint(request: HttpRequest, name: EndpointName) -> EndpointAnswer:
    """Without its key."""
    return endpoint_answer(find_endpoint_for(caller(request), name))


@routes.patch(
    "/endpoints/{name}",
    auth=needs(Scope.MANAGE, Permission.EDIT_ENDPOINTS),
    response=EndpointAnswer,
    summary="Change an endpoint",
)
def change_endpoint(
    request: HttpRequest, name: EndpointName, body: EndpointPatch
) -> EndpointAnswer:
    """For operators. The next call of every run keeps to it. Another host needs the key again. An
    archived endpoint is refused for new runs; runs that use it go on."""
    found = find_endpoint_for(caller(request), name, write=True)
    saved = save(request, found, body)
    if "archived" in body.model_fields_set:
        change = archive_endpoint if body.archived else restore_endpoint
        change(caller(request), saved)
        saved.refresh_from_db(fields=["archived", "remove_after"])
    return endpoint_answer(saved)


@routes.delete(
    "/endpoints/{name}",
    auth=needs(Scope.MANAGE, Permission.EDIT_ENDPOINTS),
    response=Applied,
    summary="Delete an endpoint",
)
def remove_endpoint(
    request: HttpRequest, name: EndpointName, query: Query[DeleteEndpointQuery]
) -> Applied:
    """For operators. It can be brought back for some days (EVALSITE_TRASH_DAYS) by `PATCH` with
    `archived: false`. 409 while a run or a stored configuration uses it: archive it instead."""
    found = find_endpoint_for(caller(request), name, write=True)
    if query.now:
        remove_for_good(caller(request), found)
        return Applied(changed=True)
    return Applied(changed=delete_endpoint(caller(request), found))


@routes.post(
    "/endpoints/{name}/pause",
    auth=needs(Scope.MANAGE, Permission.EDIT_ENDPOINTS),
    response=Applied,
    summary="Pause an endpoint",
)
def pause_calls(request: HttpRequest, name: EndpointName, body: NoBody = NOTHING) -> Applied:
    """For operators. No new calls; those in flight end."""
    found = find_endpoint_for(caller(request), name, write=True)
    return Applied(changed=pause_endpoint(caller(request), found))


@routes.post(
    "/endpoints/{name}/resume",
    auth=needs(Scope.MANAGE, Permission.EDIT_ENDPOINTS),
    response=Applied,
    summary="Resume an endpoint",
)
def resume_calls(request: HttpRequest, name: EndpointName, body: NoBody = NOTHING) -> Applied:
    """For operators."""
    found = find_endpoint_for(caller(request), name, write=True)
    return Applied(changed=resume_endpoint(caller(request), found))


def save(request: HttpRequest, endpoint: Endpoint, body: EndpointChanges) -> Endpoint:
    given = body.model_dump(exclude_unset=True)
    for name in PLAIN:
        if name in given:
            setattr(endpoint, name, given[name])
    endpoint.model_names = given.get("models", endpoint.model_names)
    endpoint.prices = given.get("prices", endpoint.prices)
    endpoint.private_addresses = given.get("private_addresses", endpoint.private_addresses)
    if "base_url" in given:
        endpoint.base_url = given["base_url"]
    if "base_urls" in given:
        endpoint.base_url, *endpoint.more_urls = given["base_urls"]
    if "allow_private" in given:
        endpoint.private_addresses = places_of(endpoint.urls) if given["allow_private"] else []
    return save_endpoint(caller(request), endpoint, given.get("api_key"))


def endpoint_answer(endpoint: Endpoint) -> EndpointAnswer:
    return EndpointAnswer(
        **{name: getattr(endpoint, name) for name in PLAIN},
        name=endpoint.name,
        base_url=endpoint.base_url,
        base_urls=endpoint.urls,
        private_addresses=endpoint.private_addresses,
        models=endpoint.model_names,
        prices=endpoint.prices,
        is_paused=endpoint.is_paused,
        has_key=endpoint.has_key,
        key_set_at=endpoint.key_set_at,
        archived=endpoint.archived,
        remove_after=endpoint.remove_after,
    )
