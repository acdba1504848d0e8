"""The try-it box of an endpoint's page: one prompt, its answer and what went over the wire."""

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from runs.access import get_endpoint_for
from runs.forms.endpoints import EndpointForm
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.services.trying import Tried, try_prompt
from runs.views.endpoints import show_endpoint
from runs.views.people import person


@requires(Permission.EDIT_ENDPOINTS)
@when_too_often()
@require_POST
def endpoint_try(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_endpoint_for(request.user, pk, write=True)
    model, prompt = request.POST.get("model", ""), request.POST.get("prompt", "")
    try:
        tried = try_prompt(person(request), found, model, prompt)
    except ValidationError as error:
        tried = Tried(model[:200], problem=" ".join(error.messages))
    if request.headers.get("X-Part") == "tried":
        return render(request, "endpoints/_tried.html", {"tried": tried})
    return show_endpoint(request, pk, EndpointForm(instance=found), tried=tried, prompt=prompt)
