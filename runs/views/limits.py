"""Changing the limits of a run while it goes on, by the form of its page."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runs.access import get_run_for
from runs.forms.limits import LimitsForm, read_budget_changes
from runs.permissions import requires
from runs.roles import Permission
from runs.services.control.limits import retune_run
from runs.services.control.resuming import retune_and_resume
from runs.views.people import person
from runs.views.run_control import tell_why
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
        messages.success(request, "The limits are changed. They apply from the next call on.")
    else:
        messages.info(
            request, "Nothing changed: the run has these limits already, or has finished."
        )
    return redirect(run)


@requires(Permission.LAUNCH)
@require_POST
def run_raise(request: HttpRequest, run_id: int) -> HttpResponse:
    """Raise the budgets that stopped a run and let it go on, by the form of its notice."""
    run = get_run_for(request.user, run_id, write=True)
    try:
        if not retune_and_resume(run, person(request), read_budget_changes(request.POST)):
            messages.info(request, "The run was not paused.")
    except ConfigurationError as error:
        tell_why(request, error)
    return redirect(run)
