"""Changing the limits of a run while it goes on: by the form of its page, and as JSON."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_run_for
from runs.forms.limits import LimitsForm
from runs.selectors.limits import configuration_now
from runs.services.limits import retune_run
from runs.views.answers import problem_answer
from runs.views.people import person
from runs.views.run_pages import show_overview
from workers.engine.errors import ConfigurationError, Problem
from workers.engine.retuning import LimitChanges


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


@require_http_methods(["PATCH"])
def run_limits(request: HttpRequest, run_id: int) -> JsonResponse:
    """{"max_concurrent": 20, "reason": "..."}; answers with the limits that hold then."""
    run = get_run_for(request.user, run_id, write=True)
    if run.is_finished:
        return problem_answer([Problem("", "The run has finished; its limits hold no more.")], 409)
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return problem_answer([Problem("", "The body is not JSON.")])
    if not isinstance(body, dict):
        return problem_answer([Problem("", "Send an object of limits, with a reason.")])
    try:
        retune_run(run, person(request), body, body.pop("reason", ""))
    except ConfigurationError as error:
        return problem_answer(error.problems)
    run.refresh_from_db(fields=["limits_now", "priority"])
    configuration = configuration_now(run)
    limits: dict[str, Any] = {
        **configuration.limits.model_dump(),
        "priority": configuration.priority,
        "budget": configuration.budget.model_dump(),
    }
    return JsonResponse({name: limits[name] for name in LimitChanges.model_fields})
