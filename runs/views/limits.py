"""Changing the limits of a run while it goes on, by the form of its page."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runs.access import get_run_for
from runs.forms.limits import LimitsForm
from runs.permissions import requires
from runs.roles import Permission
from runs.services.limits import retune_run
from runs.views.people import person
from runs.views.run_pages import show_overview
from workers.engine.errors import ConfigurationError


@requires(Permission.LAUNCH)
@require_POST
def run_retune(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return show_overview(request, run, form)
    try:
        is_changed = retune_run(run, person(request), form.changes(), form.cleaned_data["reason"])
    except ConfigurationError as error:
        form.add_problems(error.problems)
        return show_overview(request, run, form)
    if is_changed:
        messages.success(request, "The limits are changed: the next calls keep to them.")
    else:
        messages.info(request, "Nothing changed: these are the limits, or the run has finished.")
    return redirect(run)
