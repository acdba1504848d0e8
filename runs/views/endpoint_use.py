"""Endpoints at work: the parts that are fetched again, pausing, resuming and trying again."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from runs.access import get_endpoint_for, usable_endpoints_for, visible_live_runs
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.endpoints.listed import list_endpoints
from runs.selectors.endpoints.load import use_of, use_of_all
from runs.services.control.endpoint_pauses import (
    RedisAway,
    pause_endpoint,
    reset_breaker,
    resume_endpoint,
)
from runs.views.people import person


@requires(Permission.SEE)
@require_safe
def endpoints_use(request: HttpRequest) -> HttpResponse:
    """The table of all endpoints alone."""
    endpoints = list_endpoints(usable_endpoints_for(request.user))
    board = use_of_all(endpoints, visible_live_runs(request.user))
    return render(request, "endpoints/_use_of_all.html", {"board": board})


@requires(Permission.SEE)
@require_safe
def endpoint_use(request: HttpRequest, pk: int) -> HttpResponse:
    endpoint = get_endpoint_for(request.user, pk)
    board = use_of(endpoint, visible_live_runs(request.user))
    return render(request, "endpoints/_use.html", {"board": board})


@requires(Permission.EDIT_ENDPOINTS)
@require_POST
def endpoint_pause(request: HttpRequest, pk: int) -> HttpResponse:
    endpoint = get_endpoint_for(request.user, pk, write=True)
    if pause_endpoint(person(request), endpoint):
        messages.success(
            request, f"Paused {endpoint.name}. Calls in flight finish; no new ones start."
        )
    return redirect(endpoint)


@requires(Permission.EDIT_ENDPOINTS)
@require_POST
def endpoint_resume(request: HttpRequest, pk: int) -> HttpResponse:
    endpoint = get_endpoint_for(request.user, pk, write=True)
    if resume_endpoint(person(request), endpoint):
        messages.success(request, f"Resumed {endpoint.name}. Calls start again.")
    return redirect(endpoint)


@requires(Permission.EDIT_ENDPOINTS)
@require_POST
def endpoint_reset(request: HttpRequest, pk: int) -> HttpResponse:
    endpoint = get_endpoint_for(request.user, pk, write=True)
    try:
        opened = reset_breaker(person(request), endpoint)
    except RedisAway as error:
        messages.error(request, str(error))
        return redirect(endpoint)
    if opened:
        messages.success(request, f"Calls to {endpoint.name} are tried again now.")
    else:
        messages.info(request, f"No calls to {endpoint.name} were held back after failures.")
    return redirect(endpoint)
