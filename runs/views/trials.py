"""One trial: what was asked, what came back, what the scorers said."""

from typing import Any

import orjson
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.access import cached_replies_for, can_change_run, can_open_dataset, get_run_for, runs_for
from runs.answers.json_tree import read_json
from runs.answers.markdown import read_markdown
from runs.forms.filters import read_trial_filters, trial_query
from runs.models import Run, Score, Verdict
from runs.permissions import requires
from runs.reports.curl import call_as_curl
from runs.roles import Permission, Person, may
from runs.selectors.limits.limits import decides
from runs.selectors.runs.costs import trial_cost_text
from runs.selectors.runs.errors import advice_for
from runs.selectors.scores.beside import answers_beside
from runs.selectors.scores.calls import (
    cut_note,
    judges_of,
    shown_attempts,
    shown_calls,
    trial_parameters,
)
from runs.selectors.scores.elsewhere import same_trial_elsewhere
from runs.selectors.scores.folded import list_tries
from runs.selectors.scores.overrides import flagged_among, overrides_of, standing
from runs.selectors.scores.prompts import shown_messages
from runs.selectors.scores.requests import first_calls, kept_answer
from runs.selectors.scores.rows import expected_of
from runs.selectors.scores.score_records import read_record, record_size
from runs.selectors.scores.trials import (
    case_of,
    get_trial,
    is_evaluated,
    neighbours,
    steps_not_run,
)
from runs.word_diff import diff_words
from workers.engine.calling.flaws import FLAWS
from workers.engine.records import Judgement
from workers.engine.spec.depth import without_deep_parts

LONGEST_SHOWN = 200_000  # characters of an answer; browsers slow down on more
LONGEST_IN_ROW = 20_000  # of a text below its row; the trial's page has more
FLAGS = (Verdict.FLAG, Verdict.UNFLAG)  # have a button of their own
VIEWS = {"plain": "Plain", "markdown": "Markdown", "json": "JSON"}


@requires(Permission.SEE)
@require_safe
def trial(request: HttpRequest, run_id: int, position: int) -> HttpResponse:
    run = get_run_for(request.user, run_id)
    score = find_trial(run, position)
    filters = read_trial_filters(request.GET)
    view = request.GET.get("view", "")
    context = {
        "section": "runs",
        **outcome_of(run, score, LONGEST_SHOWN),
        **answer_as(score, view if view in VIEWS else "plain"),
        **against_expected(run, score),
        **sent_as(request.user, run, score),
        **said_by_people(request.user, run, score),
        "beside": answers_beside(score) if is_evaluated(score) else None,
        "elsewhere": same_trial_elsewhere(score, runs_for(request.user)),
        # What a choice was decided on cannot be run again: the button would only be refused.
        "can_open_dataset": can_open_dataset(request.user, score.case.dataset),
        "can_rerun": can_change_run(request.user, run) and not decides(run),
        "prompt": [] if score.calls else shown_messages(score, case_of(score)),
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
def tries_row(request: HttpRequest, run_id: int, candidate: int, case: int) -> HttpResponse:
    """What opens below a row that stands for several tries; candidate and case by position."""
    run = get_run_for(request.user, run_id)
    filters = read_trial_filters(request.GET)
    context = {
        "run": run,
        "tries": list_tries(run, candidate, case),
        "query": trial_query(filters, request.GET.getlist("show")),
    }
    return render(request, "runs/run/_tries_row.html", context)


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


def answer_as(score: Score, view: str) -> dict[str, Any]:
    """Laid out only when somebody asks for it: an answer may be long, and made to be slow."""
    return {
        "view": view,
        "views": VIEWS,
        "markdown": read_markdown(score.answer) if view == "markdown" else None,
        "json": read_json(score.answer) if view == "json" else None,
    }


def against_expected(run: Run, score: Score) -> dict[str, Any]:
    expected = expected_of(run, score.case.fields)
    is_comparable = bool(expected and score.answer and is_evaluated(score))
    return {"diff": diff_words(expected or "", score.answer) if is_comparable else None}


def sent_as(user: Person, run: Run, score: Score) -> dict[str, Any]:
    """The first call as it was sent, and where the cache keeps its answer."""
    call = first_calls(run, [score]).get(score.position)
    if call is None:
        return {"kept": None, "curl": ""}
    kept = kept_answer(call, cached_replies_for(user))
    is_own = score.cached or (kept.run is not None and kept.run.pk == run.pk)
    curl = may(user, Permission.SEE_ADDRESSES) and call_as_curl(call.endpoint, call.request)
    return {"kept": kept if is_own else None, "curl": curl}


def said_by_people(user: Person, run: Run, score: Score) -> dict[str, Any]:
    opinions = overrides_of(score)
    stands = standing(reversed(opinions)).get(score.pk)
    can_change = can_change_run(user, run)
    return {
        "opinions": opinions,
        "stands": stands.pk if stands else None,
        "is_flagged": bool(flagged_among([score])),
        "verdicts": [(one.value, one.label) for one in Verdict if one not in FLAGS],
        "can_change": can_change,
        "can_collect": can_change and is_evaluated(score),
    }


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
        "judgements": [Judgement.read(row) for row in score.details],
    }
