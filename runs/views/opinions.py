"""What a person says of a trial, and taking its case into a dataset, by the forms of its page."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import get_run_for
from runs.formatting import counted
from runs.forms.filters import read_text, read_trial_choice
from runs.forms.overrides import CollectForm, OverrideForm
from runs.models import Verdict
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.scores.chosen import look_at
from runs.services.datasets.storing import DatasetError
from runs.services.overriding import collect_trial, collect_trials, override_score
from runs.views.people import person
from runs.views.run_control import tell_why
from runs.views.trials import find_trial
from workers.engine.errors import ConfigurationError

KEPT = {
    Verdict.FLAG: "Flagged: the scores table can show flagged trials alone.",
    Verdict.UNFLAG: "The flag is removed.",
    "": "Kept beside the score, which stays as it is.",
}


@requires(Permission.LAUNCH)
@require_POST
def trial_override(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    score = find_trial(get_run_for(request.user, run_id, write=True), position)
    form = OverrideForm(request.POST)
    if not form.is_valid():
        messages.error(request, "A value is a number from 0 to 1, a comment has 2,000 characters.")
        return redirect(score)
    given = form.cleaned_data
    try:
        override_score(
            score, person(request), Verdict(given["verdict"]), given["value"], given["comment"]
        )
        messages.success(request, KEPT.get(given["verdict"], KEPT[""]))
    except ConfigurationError as error:
        tell_why(request, error)
    return redirect(score)


@requires(Permission.IMPORT)
@when_too_often()
@require_http_methods(["GET", "HEAD", "POST"])
def run_collect_trials(request: HttpRequest, run_id: int) -> HttpResponse:
    """The cases of many trials as a dataset. Which, says the address, as where they are rerun."""
    run = get_run_for(request.user, run_id)
    choice = read_trial_choice(request.GET)
    chosen = look_at(run, choice)
    context = {
        "section": "runs",
        "run": run,
        "chosen": chosen,
        "words": choice.words(chosen.trials),
        "name": read_text(request.POST.get("name")),
    }
    if request.method != "POST":
        return render(request, "runs/collect.html", context)
    if not context["name"]:
        messages.error(request, "Enter a name for the dataset.")
        return render(request, "runs/collect.html", context, status=400)
    try:
        saved = collect_trials(run, person(request), str(context["name"]), choice)
    except DatasetError as error:
        messages.error(request, " ".join(problem.message for problem in error.problems))
        return render(request, "runs/collect.html", context, status=400)
    messages.success(request, f"{saved} has {counted(saved.rows, 'row')} now.")
    return redirect(saved)


@requires(Permission.IMPORT)
@require_POST
def trial_collect(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    score = find_trial(get_run_for(request.user, run_id, write=True), position)
    form = CollectForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Name the dataset: one of yours, or a new one.")
        return redirect(score)
    given = form.cleaned_data
    try:
        dataset = collect_trial(score, person(request), given["name"], given["expected"])
    except DatasetError as error:
        messages.error(request, " ".join(problem.message for problem in error.problems))
        return redirect(score)
    messages.success(request, f"The case is in {dataset}.")
    return redirect(score)
