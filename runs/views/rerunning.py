"""Running chosen trials again: a page that says what would happen, and does it when confirmed."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from runs.access import get_run_for
from runs.forms.filters import read_trial_choice
from runs.models import Run
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.scores.chosen import TrialChoice, look_at
from runs.services.control.rerunning import plan_new, problem_in_place, rerun_as_new, rerun_in_place
from runs.views.people import person
from runs.views.run_control import tell_why
from workers.engine.errors import ConfigurationError


@requires(Permission.LAUNCH)
@require_http_methods(["GET", "HEAD", "POST"])
def run_rerun(request: HttpRequest, run_id: int) -> HttpResponse:
    """Which trials, says the address: a filter, or those that were ticked."""
    run = get_run_for(request.user, run_id, write=True)
    choice = read_trial_choice(request.GET)
    if request.method != "POST":
        return render(request, "runs/rerun.html", told_of(run, choice))
    try:
        return again(request, run, choice)
    except ConfigurationError as error:
        tell_why(request, error)
    return render(request, "runs/rerun.html", told_of(run, choice), status=400)


def again(request: HttpRequest, run: Run, choice: TrialChoice) -> HttpResponse:
    if request.POST.get("how") == "in_place":
        if not rerun_in_place(run, person(request), choice):
            messages.info(request, "These trials are being run already.")
        return redirect(run)
    cache = "use" if request.POST.get("cache") == "use" else "refresh"
    return redirect(rerun_as_new(run, person(request), choice, cache=cache))


def told_of(run: Run, choice: TrialChoice) -> dict[str, Any]:
    chosen = look_at(run, choice)
    planned, problem_new = 0, ""
    try:
        planned = plan_new(run, choice, chosen)
    except ConfigurationError as error:
        problem_new = " ".join(problem.message for problem in error.problems)
    return {
        "section": "runs",
        "run": run,
        "choice": choice,
        "chosen": chosen,
        "words": choice.words(chosen.trials),
        "planned": planned,
        "problem_new": problem_new,
        "problem_in_place": problem_in_place(run, choice, chosen),
        "scored": chosen.trials - chosen.failed,
    }
