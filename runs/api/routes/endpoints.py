"""Endpoints: add, list, show, change, pause, delete. No answer holds a key."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query

from runs.access import endpoints_for, find_endpoint_for
from runs.api.bodies import address_of
from runs.api.doors import caller, needs
from runs.api.endpoint_bodies import (
    DeleteEndpointQuery,
    EndpointAnswer,
    EndpointBody,
    EndpointChanges,
    EndpointName,
    EndpointPatch,
    FoundModels,
    ProviderAnswer,
    Providers,
    TriedAnswer,
    TryBody,
)
from runs.api.pages import ApiList, ArchiveQuery, Page, answer
from runs.api.router import Routes
from runs.api.routes.control import NOTHING, Applied, NoBody
from runs.models import Endpoint, Scope
from runs.outbound import places_of
from runs.roles import Permission, may
from runs.selectors.api_lists import list_endpoints_from
from runs.services.control.endpoint_pauses import pause_endpoint, resume_endpoint
from runs.services.endpoints import find_models, save_endpoint
from runs.services.known_providers import fill_in
from runs.services.removing.archiving import archive_endpoint, delete_endpoint, restore_endpoint
from runs.services.removing.archiving import remove_endpoint as remove_for_good
from runs.services.trying import try_prompt
from workers.engine.http import proxy_addresses
from workers.engine.providers.known import KNOWN_PROVIDERS

routes = Routes(tags=["Endpoints"])

ENDPOINTS = ApiList("endpoints", EndpointAnswer, "name")
PLAIN = (
    "kind",
    "options",
    "ca_bundle",
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "adaptive",
)
WITHOUT_ADDRESSES: Mapping[str, Any] = {
    "options": {},
    "header_names": [],
    "proxy": "",
    "ca_bundle": "",
    "base_url": "",
    "base_urls": [],
    "private_addresses": [],
}


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
    return answer(endpoint_answer(request, saved).model_dump(), 201, Location=where)


@routes.get(
    "/providers", auth=needs(Scope.READ), response=Providers, summary="List known providers"
)
def list_providers(request: HttpRequest) -> Providers:
    """By the names that `provider` of an endpoint takes."""
    known = KNOWN_PROVIDERS.items()
    return Providers(providers=[ProviderAnswer(name=n, **one._asdict()) for n, one in known])


@routes.get(
    "/endpoints", auth=needs(Scope.READ), response=Page[EndpointAnswer], summary="List endpoints"
)
def list_all_endpoints(request: HttpRequest, query: Query[ArchiveQuery]) -> HttpResponse:
    """By name. Archived ones only when asked for."""
    start = ENDPOINTS.place(query.cursor, query.archived)
    endpoints = endpoints_for(caller(request)).filter(archived__isnull=not query.archived)
    found = list_endpoints_from(endpoints, query.limit + 1, start)
    return ENDPOINTS.page(
        [endpoint_answer(request, endpoint) for endpoint in found], query, query.archived
    )


@routes.get(
    "/endpoints/{name}",
    auth=needs(Scope.READ),
    response=EndpointAnswer,
    summary="Show an endpoint",
)
def show_endpoint(request: HttpRequest, name: EndpointName) -> EndpointAnswer:
    """Without its key."""
    return endpoint_answer(request, find_endpoint_for(caller(request), name))


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
    return endpoint_answer(request, saved)


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
    "/endpoints/{name}/models",
    auth=needs(Scope.MANAGE, Permission.EDIT_ENDPOINTS, takes_work=True),
    response=FoundModels,
    summary="Find the models of an endpoint",
)
def find_its_models(
    request: HttpRequest, name: EndpointName, body: NoBody = NOTHING
) -> FoundModels:
    """For operators. Asks its server for the list of models, which costs nothing and changes
    nothing. A failure is an answer, too: `ok` is false."""
    found = find_endpoint_for(caller(request), name, write=True)
    report = find_models(caller(request), found)
    return FoundModels(
        ok=report.ok, message=report.message, advice=report.advice, models=list(report.models)
    )


@routes.post(
    "/endpoints/{name}/try",
    auth=needs(Scope.MANAGE, Permission.EDIT_ENDPOINTS, takes_work=True),
    response=TriedAnswer,
    summary="Send a prompt to an endpoint",
)
def try_a_prompt(request: HttpRequest, name: EndpointName, body: TryBody) -> TriedAnswer:
    """For operators. One call, within the endpoint's limits, that the provider may charge for; at
    most 30 seconds. Answered with what went over the wire, without secrets. A failure is an answer,
    too: `problem` says what went wrong."""
    found = find_endpoint_for(caller(request), name, write=True)
    tried = try_prompt(caller(request), found, body.model, body.prompt)
    return TriedAnswer.model_validate(asdict(tried))


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
    if "provider" in given:
        given_names = given.keys() | ({"base_url"} if "base_urls" in given else set())
        fill_in(endpoint, given["provider"], given_names)
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
        urls = [*endpoint.called_urls, *proxy_addresses(given.get("proxy", ""))]
        endpoint.private_addresses = places_of(urls) if given["allow_private"] else []
    proxy = given.get("proxy")
    return save_endpoint(
        caller(request),
        endpoint,
        given.get("api_key"),
        new_headers=given.get("headers"),
        new_proxy=None if proxy == endpoint.proxy_shown else proxy,
    )


def endpoint_answer(request: HttpRequest, endpoint: Endpoint) -> EndpointAnswer:
    found = EndpointAnswer(
        **{name: getattr(endpoint, name) for name in PLAIN},
        name=endpoint.name,
        base_url=endpoint.base_url,
        base_urls=endpoint.urls,
        private_addresses=endpoint.private_addresses,
        models=endpoint.model_names,
        header_names=endpoint.header_names,
        proxy=endpoint.proxy_shown,
        prices=endpoint.prices,
        prices_from_list=endpoint.prices_from_list,
        price_list_date=endpoint.price_list_date,
        is_paused=endpoint.is_paused,
        has_key=endpoint.has_key,
        key_set_at=endpoint.key_set_at,
        archived=endpoint.archived,
        remove_after=endpoint.remove_after,
    )
    sees = may(caller(request), Permission.SEE_ADDRESSES)
    return found if sees else found.model_copy(update=WITHOUT_ADDRESSES)
