"""One trial: what was asked, what came back, what the scorers said."""

from typing import Any

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import can_change_run, can_open_dataset, get_run_for
from runs.forms.filters import read_trial_filters, trial_query
from runs.models import Run, Score
from runs.permissions import requires
from runs.roles import Permission
from runs.selectors.runs.costs import trial_cost_text
from runs.selectors.runs.errors import advice_for
from runs.selectors.scores.calls import (
    cut_note,
    judges_of,
    shown_attempts,
    shown_calls,
    trial_parameters,
)
from runs.selectors.scores.rows import expected_of
from runs.selectors.scores.score_records import read_record, record_size
from runs.selectors.scores.trials import (
    get_trial,
    is_evaluated,
    neighbours,
    rendered_prompt,
    steps_not_run,
)
from workers.engine.calling.flaws import FLAWS
from workers.engine.kinds import KINDS
from workers.engine.records import Judgement
from workers.engine.spec.depth import without_deep_parts

LONGEST_SHOWN = 200_000  # characters of an answer; browsers slow down on more
LONGEST_IN_ROW = 20_000  # of a text below its row; the trial's page has more


@requires(Permission.SEE)
@require_safe
def trial(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    run = get_run_for(request.user, run_id)
    score = find_trial(run, position)
    filters = read_trial_filters(request.GET)
    context = {
        "section": "runs",
        **outcome_of(run, score, LONGEST_SHOWN),
        # What a choice was decided on cannot be run again: the button would only be refused.
        "can_open_dataset": can_open_dataset(request.user, score.case.dataset),
        "can_rerun": can_change_run(request.user, run) and not KINDS[run.kind].learns,
        "prompt": [] if score.calls else rendered_prompt(score),
        "parameters": trial_parameters(score),
        "calls": shown_calls(score),
        "not_run": steps_not_run(score) if score.calls else [],
        "attempts": shown_attempts(score),
        **judges_of(score),
        "advice": advice_for(score.error_class) if score.is_error else "",
        "cost": trial_cost_text(score),
        "record_size": record_size(score),
        "neighbours": neighbours(score, filters),
        "query": trial_query(filters, request.GET.getlist("show")),
        "filters": filters,
    }
    return render(request, "runs/trial.html", context)


@requires(Permission.SEE)
@require_safe
def trial_row(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    """What opens below a row of the scores table, fetched when somebody opens it."""
    run = get_run_for(request.user, run_id)
    score = find_trial(run, position)
    filters = read_trial_filters(request.GET)
    context = {
        **outcome_of(run, score, LONGEST_IN_ROW),
        "question": score.case.question[:LONGEST_IN_ROW],
        "query": trial_query(filters, request.GET.getlist("show")),
    }
    return render(request, "runs/run/_trial_row.html", context)


@requires(Permission.SEE)
@require_safe
def trial_record(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    """What the trial recorded, laid out for reading."""
    record = read_record(get_run_for(request.user, run_id), position)
    if record is None:
        raise Http404(f"Trial {position} of run {run_id} has no record.")
    text = orjson.dumps(without_deep_parts(orjson.loads(record)), option=orjson.OPT_INDENT_2)
    return HttpResponse(text, content_type="application/json")


def find_trial(run: Run, position: int) -> Score:
    score = get_trial(run, position)
    if score is None:
        raise Http404(f"Trial {position} of run {run.pk} has no result yet.")
    return score


def outcome_of(run: Run, score: Score, longest: int) -> dict[str, Any]:
    """What came back and what the scorers said, for the page and for the row."""
    return {
        "run": run,
        "score": score,
        "answer": score.answer[:longest],
        "is_shortened": len(score.answer) > longest,
        "cut": cut_note(score),
        "is_evaluated": is_evaluated(score),
        "is_answered": score.error_class in FLAWS,
        "expected": expected_of(run, score.case.fields),
        "judgements": [Judgement(*row) for row in score.details],
    }
