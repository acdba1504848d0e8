"""The docs page of the API, rendered here from the OpenAPI document: nothing is fetched."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.api.api import openapi_document
from runs.api.reference import Reference, read_reference
from runs.permissions import requires
from runs.roles import Permission


@cache
def reference() -> Reference:
    return read_reference(openapi_document())


@requires(Permission.SEE)
@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    context = {
        "section": "api",
        "groups": reference().groups,
        "objects": reference().objects,
        "site": f"{request.scheme}://{request.get_host()}",
    }
    return render(request, "api/docs.html", context)
