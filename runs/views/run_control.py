"""Pausing, resuming, cancelling and retrying a run, by the forms of its page."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_run_for
from runs.permissions import requires
from runs.roles import Permission
from runs.services.control.pauses import pause_run
from runs.services.control.resuming import resume_run
from runs.services.control.retrying import rerun_trial, retry_failed
from runs.services.people.sharing import share_run
from runs.services.runs import cancel_run
from runs.views.going_back import go_back
from runs.views.people import person
from runs.views.sharing import sharing
from workers.engine.errors import ConfigurationError


def tell_why(request: HttpRequest, error: ConfigurationError) -> None:
    messages.error(request, " ".join(problem.message for problem in error.problems))


@requires(Permission.LAUNCH)
@require_POST
def run_pause(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    if not pause_run(run, person(request), now="now" in request.POST):
        messages.info(request, "The run was paused already, or has finished.")
    return go_back(request, run)


@requires(Permission.LAUNCH)
@require_POST
def run_resume(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    try:
        if not resume_run(run, person(request)):
            messages.info(request, "The run was not paused.")
    except ConfigurationError as error:
        tell_why(request, error)
    return go_back(request, run)


@requires(Permission.LAUNCH)
@require_POST
def run_cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    if not cancel_run(run, person(request)):
        messages.info(request, "The run had already finished.")
    return go_back(request, run)


@requires(Permission.LAUNCH)
@require_POST
def run_retry(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    try:
        count = retry_failed(run, person(request))
    except ConfigurationError as error:
        tell_why(request, error)
    else:
        if not count:
            messages.info(request, "No failed trial is left to retry.")
    return go_back(request, run)


@requires(Permission.LAUNCH)
@require_POST
def trial_rerun(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    """The result is gone until the new one is there, so the run's page is shown."""
    run = get_run_for(request.user, run_id, write=True)
    try:
        if not rerun_trial(run, person(request), position):
            messages.info(request, f"Trial {position} is being run already.")
    except ConfigurationError as error:
        tell_why(request, error)
    return redirect(run)


@requires(Permission.LAUNCH)
@require_http_methods(["GET", "POST"])
def run_share(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    return sharing(request, "runs", run, share_run)
