"""Pictures of a run that its page fetches once it is there, and where they lead to."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_POST, require_safe

from runs.access import get_run_for
from runs.formatting import counted
from runs.forms.filters import read_text, read_trial_filters, trial_query
from runs.kinds import kind_of
from runs.permissions import requires
from runs.rates import when_too_often
from runs.roles import Permission
from runs.selectors.pictures.case_pictures import case_pictures, cases_solved
from runs.selectors.scores.trials import only_trial
from runs.services.datasets.collecting import collect_cases
from runs.services.datasets.storing import DatasetError
from runs.views.people import person


@requires(Permission.SEE)
@require_safe
def run_pictures(request: HttpRequest, run_id: int) -> HttpResponse:
    """A part of the page, as its kind of run has it."""
    run = get_run_for(request.user, run_id)
    pictures = kind_of(run).pictures(run)
    if pictures is None:
        raise Http404(f"Runs of kind {run.kind} have no such pictures.")
    return render(request, pictures.template, {"run": run, **pictures.context})


@requires(Permission.SEE)
@require_safe
@gzip_page
def run_heatmap(request: HttpRequest, run_id: int) -> HttpResponse:
    """What static/js/heatmap.js draws."""
    run = get_run_for(request.user, run_id)
    return HttpResponse(case_pictures(run).heatmap, content_type="application/json")


@requires(Permission.SEE)
@require_safe
def run_cell(request: HttpRequest, run_id: int) -> HttpResponse:
    """From a cell of the heatmap to its trial, or to its trials if there are several."""
    run = get_run_for(request.user, run_id)
    filters = read_trial_filters(request.GET)
    if trial := only_trial(run, filters):
        return redirect(trial)
    return redirect(f"{reverse('run_scores', args=[run.pk])}?{trial_query(filters)}")


@requires(Permission.IMPORT)
@when_too_often()
@require_POST
def run_collect(request: HttpRequest, run_id: int) -> HttpResponse:
    """The cases that nobody, or everybody, solves as a dataset of whoever asks."""
    run = get_run_for(request.user, run_id)
    name = read_text(request.POST.get("name"))
    if not name:
        messages.error(request, "Enter a name for the dataset.")
        return redirect(run)
    cases = cases_solved(run, request.POST.get("by", "nobody"))
    try:
        saved = collect_cases(
            person(request), name, cases, expected=run.expected_column, origin=f"run {run.pk}"
        )
    except DatasetError as error:
        messages.error(request, " ".join(problem.message for problem in error.problems))
        return redirect(run)
    messages.success(request, f"{saved} has {counted(saved.rows, 'row')} now.")
    return redirect(saved)
