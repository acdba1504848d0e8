"""What the jump box lists for what was typed so far."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import runs_for, usable_datasets_for, usable_endpoints_for
from runs.forms.filters import read_text
from runs.permissions import requires
from runs.roles import Permission, permissions_of
from runs.selectors.jump import find_guides, find_pages, find_places


@requires(Permission.SEE)
@require_safe
def jump(request: HttpRequest) -> HttpResponse:
    user = request.user
    text = read_text(request.GET.get("q"))
    places = [
        *find_pages(text, permissions_of(user)),
        *find_guides(text),
        *find_places(text, runs_for(user), usable_datasets_for(user), usable_endpoints_for(user)),
    ]
    return render(request, "parts/jump_places.html", {"places": places})
