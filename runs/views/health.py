"""The health strip alone, fetched again by every open page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.health import recent_troubles


@requires(Permission.SEE)
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    return render(request, "parts/health.html", {"troubles": recent_troubles()})
