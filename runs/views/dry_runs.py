"""The first trials of a new run, tried before it is launched."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_POST

from runs.forms.new_run import NewRunInput, read_post
from runs.forms.problems import FieldProblem, place
from runs.large_bodies import when_too_large
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.dry_results import bill_text, shown_trial
from runs.services.dry_runs import DryResult, try_first
from runs.views.new_run import refuse_large_form
from runs.views.new_run_form import draw_document, show_form
from runs.views.people import person
from workers.engine.errors import ConfigurationError


def refuse_frequent_tries(request: HttpRequest, sentence: str) -> HttpResponse:
    context = {"dry": {"refused": sentence}}
    return render(request, "runs/new/_dry_run.html", context, status=429)


@requires(Permission.LAUNCH)
@when_too_often(refuse_frequent_tries)
@when_too_large(refuse_large_form)
@require_POST
def run_dry(request: HttpRequest) -> HttpResponse:
    """A part of the page for its script; without one the whole page."""
    filled = read_post(request.POST)
    dry = dry_context(request, filled)
    if "X-Part" in request.headers:
        return render(request, "runs/new/_dry_run.html", {"dry": dry})
    return show_form(request, filled, [], dry=dry)


def dry_context(request: HttpRequest, filled: NewRunInput) -> dict[str, Any]:
    drawn = draw_document(filled)
    if drawn.problems:
        return {"problems": place(drawn.problems, filled)}
    try:
        result = try_first(person(request), drawn.document)
    except ConfigurationError as error:
        problems: list[FieldProblem] = place(error.problems, filled)
        return {"problems": problems}
    return shown(result)


def shown(result: DryResult) -> dict[str, Any]:
    seconds = result.deadline_seconds
    return {
        "trials": [
            shown_trial(one.candidate, one.case, one.score, seconds) for one in result.trials
        ],
        "bill": bill_text(
            result.calls,
            result.cost,
            result.unpriced,
            result.unfinished,
            result.configuration.cache,
        ),
    }
