"""Endpoints: the list, one endpoint, adding and testing one."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import endpoints_for, get_endpoint_for, visible_live_runs
from runs.forms.endpoints import Difference, EndpointForm
from runs.models import Endpoint
from runs.outbound import places_of, places_to_tick
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.endpoints.listed import list_endpoints
from runs.selectors.endpoints.load import use_of, use_of_all
from runs.services.endpoints import (
    ChangedMeanwhileError,
    ConnectionReport,
    find_models,
    save_endpoint,
    test_connection,
)
from runs.services.known_providers import FILLED
from runs.services.trying import Tried
from runs.views.people import person
from workers.engine.providers import PROVIDERS
from workers.engine.providers.known import KNOWN_PROVIDERS, KnownProvider


@requires(Permission.SEE)
@require_safe
def endpoints(request: HttpRequest) -> HttpResponse:
    found, shows_archived = endpoints_for(request.user), "archived" in request.GET
    listed = list_endpoints(found.filter(archived__isnull=not shows_archived))
    context = {
        "section": "endpoints",
        "endpoints": listed,
        "shows_archived": shows_archived,
        "archived": found.filter(archived__isnull=False).count(),
        "board": use_of_all(listed, visible_live_runs(request.user)),
    }
    return render(request, "endpoints/list.html", context)


@requires(Permission.EDIT_ENDPOINTS)
@require_http_methods(["GET", "POST"])
def endpoint_new(request: HttpRequest) -> HttpResponse:
    known = KNOWN_PROVIDERS.get(request.GET.get("provider", ""))
    form = new_form(request, known)
    if request.method == "POST" and form.is_valid() and (saved := try_to_save(request, form)):
        return redirect(saved)
    return show_new(request, form, known)


def new_form(request: HttpRequest, known: KnownProvider | None) -> EndpointForm:
    """Filled in by the name of a provider; a place on this machine is offered to be allowed."""
    if request.method == "POST" or known is None:
        return EndpointForm(request.POST or None)
    filled = Endpoint(**{name: getattr(known, name) for name in FILLED})
    initial = {name: getattr(filled, name) for name in FILLED}
    return EndpointForm(initial=initial, offered=places_to_tick(filled))


def show_new(
    request: HttpRequest,
    form: EndpointForm,
    known: KnownProvider | None = None,
    report: ConnectionReport | None = None,
) -> HttpResponse:
    context = {
        "section": "endpoints",
        "form": form,
        "known": known,
        "providers": KNOWN_PROVIDERS,
        "found": report,
    }
    return render(request, "endpoints/new.html", context, status=400 if form.errors else 200)


@requires(Permission.SEE, to_change=Permission.EDIT_ENDPOINTS)
@require_http_methods(["GET", "POST"])
def endpoint(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_endpoint_for(request.user, pk, write=request.method == "POST")
    asked = [
        place for place in request.GET.getlist("allow") if place in places_of(found.called_urls)
    ]
    offered = [*places_to_tick(found), *asked]
    form = EndpointForm(request.POST or None, instance=found, offered=offered)
    try:
        if request.method == "POST" and form.is_valid() and (saved := try_to_save(request, form)):
            return redirect(saved)
    except ChangedMeanwhileError:
        return show_changes(request, pk, form)
    return show_endpoint(request, pk, form)


@requires(Permission.EDIT_ENDPOINTS)
@when_too_often()
@require_POST
def endpoint_test(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_endpoint_for(request.user, pk, write=True)
    report = test_connection(found)
    if request.headers.get("X-Part") == "report":
        context = {"report": report, "endpoint": found}
        return render(request, "endpoints/_report.html", context)
    return show_endpoint(request, pk, EndpointForm(instance=found), report=report)


@requires(Permission.EDIT_ENDPOINTS)
@when_too_often()
@require_POST
def endpoint_models_new(request: HttpRequest) -> HttpResponse:
    """The models of an endpoint that is being added, to be ticked."""
    form = EndpointForm(request.POST)
    report = find_typed(request, form)
    if request.headers.get("X-Part") == "models":
        return show_found(request, form, report)
    form.say_what_to_type_again()
    return show_new(request, form, report=report)


@requires(Permission.EDIT_ENDPOINTS)
@when_too_often()
@require_POST
def endpoint_models(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_endpoint_for(request.user, pk, write=True)
    form = EndpointForm(request.POST, instance=found)
    report = find_typed(request, form)
    if request.headers.get("X-Part") == "models":
        return show_found(request, form, report)
    form.say_what_to_type_again()
    return show_endpoint(request, pk, form, found=report)


def find_typed(request: HttpRequest, form: EndpointForm) -> ConnectionReport:
    """Ask with the address and key that were typed. What else is wrong matters only when saving."""
    form.is_valid()
    endpoint = form.instance
    endpoint.base_url = form.data.get("base_url", "").strip()
    form.errors.clear()
    if endpoint.kind not in PROVIDERS:
        return ConnectionReport(ok=False, message="Choose a kind first.")
    try:
        return find_models(person(request), endpoint, form.new_secrets)
    except ValidationError as error:
        return ConnectionReport(ok=False, message=" ".join(error.messages))


def show_found(request: HttpRequest, form: EndpointForm, report: ConnectionReport) -> HttpResponse:
    context = {"form": form, "found": report}
    return render(request, "endpoints/_found_models.html", context)


def try_to_save(request: HttpRequest, form: EndpointForm) -> Endpoint | None:
    """The stored endpoint, or None with the reasons on the form's fields."""
    changed, new = form.save(commit=False), form.new_secrets
    try:
        saved = save_endpoint(
            person(request),
            changed,
            new.key,
            form.cleaned_data["opened"],
            new.headers,
            new.proxy,
        )
    except ValidationError as error:
        for field, reasons in error.error_dict.items():
            form.add_error(field if field in form.fields else None, reasons)
        return None
    messages.success(request, f"Saved {saved.name}. The next call uses these settings.")
    return saved


def show_changes(request: HttpRequest, pk: int, form: EndpointForm) -> HttpResponse:
    """Somebody saved it first: what is stored now beside what was typed, to be sent again."""
    stored = get_endpoint_for(request.user, pk)
    differences = form.differences(stored)
    if not differences and not form.new_secrets.fields:
        messages.info(request, f"{stored.name} has these settings already.")
        return redirect(stored)
    form.data = request.POST.copy()
    form.data["opened"] = stored.revision
    return show_endpoint(request, pk, form, differences=differences)


def show_endpoint(
    request: HttpRequest,
    pk: int,
    form: EndpointForm,
    *,
    report: object = None,
    found: ConnectionReport | None = None,
    tried: Tried | None = None,
    prompt: str = "",
    differences: list[Difference] | None = None,
) -> HttpResponse:
    stored = get_endpoint_for(request.user, pk)  # whatever was typed
    context = {
        "section": "endpoints",
        "endpoint": stored,
        "board": use_of(stored, visible_live_runs(request.user)),
        "form": form,
        "report": report,
        "found": found,
        "tried": tried,
        "prompt": prompt,
        "changed_meanwhile": differences is not None,
        "differences": differences,
    }
    status = 409 if differences is not None else 400 if form.errors else 200
    return render(request, "endpoints/detail.html", context, status=status)
