"""The reference of configurations, made from their schema."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.permissions import requires
from runs.roles import Permission
from workers.engine.spec.examples import EXAMPLES
from workers.engine.spec.reference import Part, reference


@cache
def parts() -> list[Part]:
    return reference()


@requires(Permission.SEE)
@require_safe
def configuration_docs(request: HttpRequest) -> HttpResponse:
    context = {"section": "configuration_docs", "parts": parts(), "examples": EXAMPLES}
    return render(request, "docs/configuration.html", context)
