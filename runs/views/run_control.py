"""Pausing, resuming, cancelling and retrying a run: forms of the page, and the same as JSON."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from runs.access import get_run_for
from runs.services.pauses import pause_run
from runs.services.resuming import resume_run
from runs.services.retrying import rerun_trial, retry_failed
from runs.services.runs import cancel_run
from runs.views.answers import problem_answer
from runs.views.people import person
from workers.engine.errors import ConfigurationError, Problem

PAUSE_FIELDS = {"now": bool, "reason": str}


def tell_why(request: HttpRequest, error: ConfigurationError) -> None:
    messages.error(request, " ".join(problem.message for problem in error.problems))


@require_POST
def run_pause(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    if not pause_run(run, person(request), now="now" in request.POST):
        messages.info(request, "The run was paused already, or has finished.")
    return redirect(run)


@require_POST
def run_resume(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    try:
        if not resume_run(run, person(request)):
            messages.info(request, "The run was not paused.")
    except ConfigurationError as error:
        tell_why(request, error)
    return redirect(run)


@require_POST
def run_cancel(request: HttpRequest, run_id: int) -> HttpResponse:
    run = get_run_for(request.user, run_id, write=True)
    if not cancel_run(run):
        messages.info(request, "The run had already finished.")
    return redirect(run)


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
    return redirect(run)


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


@require_POST
def pause(request: HttpRequest, run_id: int) -> JsonResponse:
    """{"now": true, "reason": "..."}, both optional."""
    run = get_run_for(request.user, run_id, write=True)
    try:
        wanted = read_pause(request.body)
    except ConfigurationError as error:
        return problem_answer(error.problems)
    if run.is_finished:
        return finished()
    is_changed = pause_run(
        run, person(request), wanted.get("reason", ""), now=wanted.get("now", False)
    )
    return JsonResponse({"applied": True, "changed": is_changed})


@require_POST
def resume(request: HttpRequest, run_id: int) -> JsonResponse:
    run = get_run_for(request.user, run_id, write=True)
    if run.is_finished:
        return finished()
    try:
        is_changed = resume_run(run, person(request))
    except ConfigurationError as error:
        return problem_answer(error.problems, 409)
    return JsonResponse({"applied": True, "changed": is_changed})


@require_POST
def cancel(request: HttpRequest, run_id: int) -> JsonResponse:
    run = get_run_for(request.user, run_id, write=True)
    return JsonResponse({"applied": True, "changed": cancel_run(run)})


@require_POST
def retry(request: HttpRequest, run_id: int) -> JsonResponse:
    """Runs the failed trials again. `changed` is false when there was none."""
    run = get_run_for(request.user, run_id, write=True)
    try:
        count = retry_failed(run, person(request))
    except ConfigurationError as error:
        return problem_answer(error.problems, 409)
    return JsonResponse({"applied": True, "changed": bool(count), "trials": count})


def finished() -> JsonResponse:
    return problem_answer([Problem("", "The run has finished.")], 409)


def read_pause(body: bytes) -> dict[str, Any]:
    """What was asked for; nothing is needed. Raises ConfigurationError with every problem."""
    try:
        wanted = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        wanted = None
    if not isinstance(wanted, dict):
        raise ConfigurationError([Problem("", "Send a JSON object, or nothing.")])
    problems = [
        Problem(name, f"Unknown field. Allowed here: {', '.join(PAUSE_FIELDS)}.")
        for name in wanted.keys() - PAUSE_FIELDS.keys()
    ]
    problems += [
        Problem(name, f"Needs {'true or false' if kind is bool else 'text'}.")
        for name, kind in PAUSE_FIELDS.items()
        if not isinstance(wanted.get(name, kind()), kind)
    ]
    if problems:
        raise ConfigurationError(problems)
    return wanted
