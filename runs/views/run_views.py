"""Views of the runs list that a person saves under a name."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from runs.access import get_view_for
from runs.forms.filters import read_view_query
from runs.permissions import requires
from runs.roles import Permission
from runs.services.organising import remove_view, save_view
from runs.views.going_back import go_back
from runs.views.people import person
from runs.views.run_control import tell_why
from workers.engine.errors import ConfigurationError


@requires(Permission.SEE)
@require_POST
def run_views(request: HttpRequest) -> HttpResponse:
    query = read_view_query(request.POST.get("query", ""))
    try:
        save_view(person(request), request.POST.get("name", ""), query)
    except ConfigurationError as error:
        tell_why(request, error)
    return redirect(f"{reverse('runs')}?{query}")


@requires(Permission.SEE)
@require_POST
def run_view_remove(request: HttpRequest, view_id: int) -> HttpResponse:
    view = get_view_for(request.user, view_id)
    remove_view(person(request), view)
    messages.success(request, f"The view {view.name} is removed. No run changed.")
    return go_back(request)
