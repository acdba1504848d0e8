"""One trial: what was asked, what came back, what the scorers said."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import can_change_run, get_run_for
from runs.forms.filters import read_trial_filters, trial_query
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.costs import trial_cost_text
from runs.selectors.errors import advice_for
from runs.selectors.trials import (
    case_of,
    get_trial,
    neighbours,
    rendered_prompt,
    step_calls,
    steps_not_run,
)
from workers.engine import records

LONGEST_SHOWN = 200_000  # characters of an answer; browsers slow down on more


@requires(Permission.SEE)
@require_safe
def trial(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    run = get_run_for(request.user, run_id)
    score = get_trial(run, position)
    if score is None:
        raise Http404(f"Trial {position} of run {run_id} has no result yet.")
    filters = read_trial_filters(request.GET)
    context = {
        "section": "runs",
        "run": run,
        # What a choice was decided on cannot be run again: the button would only be refused.
        "can_rerun": can_change_run(request.user, run) and run.kind != "select",
        "score": score,
        "prompt": [] if score.calls else rendered_prompt(score),
        "calls": step_calls(score),
        "not_run": steps_not_run(score) if score.calls else [],
        "answer": score.answer[:LONGEST_SHOWN],
        "is_cut": len(score.answer) > LONGEST_SHOWN,
        "case": case_of(score),
        "judgements": [records.Judgement(*row) for row in score.details],
        "attempts": [records.Attempt(*row) for row in score.attempts],
        "advice": advice_for(score.error_class) if score.is_error else "",
        "cost": trial_cost_text(score),
        "neighbours": neighbours(score, filters),
        "query": trial_query(filters),
        "filters": filters,
    }
    return render(request, "runs/trial.html", context)
