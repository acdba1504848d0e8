"""The docs page of the API, rendered here from the OpenAPI document: nothing is fetched."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from runs.api.api import openapi_document
from runs.api.reference import Reference, read_reference
from runs.permissions import requires
from runs.roles import Permission


@cache
def reference() -> Reference:
    return read_reference(openapi_document())


@cache
def rendered() -> str:
    """The same for everybody, and half a second of work."""
    return render_to_string("api/_reference.html", reference()._asdict())


@requires(Permission.SEE)
@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    context = {
        "section": "api",
        "groups": reference().groups,
        "reference": rendered(),
        "site": f"{request.scheme}://{request.get_host()}",
    }
    return render(request, "api/docs.html", context)
